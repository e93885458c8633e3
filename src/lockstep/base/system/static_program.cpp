#include <sys/auxv.h>

#include "lockstep/base/system/build_facts.h"

namespace lockstep {

bool is_static_program() {
  // Where the kernel put the dynamic loader; nowhere for a program that needs none.
  return ::getauxval(AT_BASE) == 0;
}

}  // namespace lockstep
