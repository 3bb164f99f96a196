"""The page: what people answer on in a browser."""
