#!/bin/sh
cat > README.md <<EOF
```
make
```
EOF
