def f():
    """Generate.

    ```
    gen a b
    ```
    """
