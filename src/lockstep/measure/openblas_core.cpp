#include "lockstep/measure/openblas_core.h"

#include <algorithm>

namespace lockstep::measure {

std::string openblas_core_type(std::string_view vendor, const std::vector<std::string>& flags) {
  const auto has = [&](std::string_view flag) {
    return std::find(flags.begin(), flags.end(), flag) != flags.end();
  };
  if (has("avx512f") && has("avx512dq") && has("avx512bw") && has("avx512vl")) return "SkylakeX";
  if (vendor == "AuthenticAMD" && has("avx2")) return "Zen";
  if (has("avx2") && has("fma")) return "Haswell";
  return "";
}

}  // namespace lockstep::measure
