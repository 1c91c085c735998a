"""Say hello."""
print("hello")
