# first
    start()
    work(1)
    end()

# second
    start()
    work(1)
    end()

