print("$HOME")
