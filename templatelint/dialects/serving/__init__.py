"""What engines read replies with: the parsers that they register, and the flags that choose among them."""
