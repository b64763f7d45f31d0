/* libquarry.so is made of the component libraries; a linker wants a source. */
extern const char quarry_library_version[];
__attribute__((visibility("default"))) const char quarry_library_version[] =
    "0.2.0";
