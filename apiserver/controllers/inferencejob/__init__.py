"""The life of an InferenceJob, one file a step: place, pods, bind, observe, release,
finish, finalize, status."""
