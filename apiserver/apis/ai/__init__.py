"""The group `ai.example.com`: inference jobs and the ledger of GPU nodes."""
