// The compiled part of toml++, which Debian has as a shared library only.
#define TOML_HEADER_ONLY 0
#define TOML_IMPLEMENTATION
#include <toml++/toml.h>
