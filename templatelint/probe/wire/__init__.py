"""What goes over the wire: requests, answers and event streams as they are, and what the official SDKs read of them."""
