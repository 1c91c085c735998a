def second(path):
    return sorted(os.listdir(path))
