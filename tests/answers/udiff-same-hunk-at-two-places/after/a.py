# first
    start()
    work(2)
    end()

# second
    start()
    work(2)
    end()

