if x:
    y
