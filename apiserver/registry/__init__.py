"""Resources declared once, and the generic store that serves them."""
