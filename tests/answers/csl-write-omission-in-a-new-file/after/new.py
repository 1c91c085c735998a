def second(path):
    return sorted(os.listdir(path))

# rest of the code remains the same
