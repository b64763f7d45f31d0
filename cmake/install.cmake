# What is installed beside the binary: the C library, its headers, pkg-config.
