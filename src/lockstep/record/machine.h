#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace lockstep::record {

/// The host a run was made on, as far as it matters for its times.
struct Machine {
  std::string host;
  std::string system;  ///< "Debian GNU/Linux 12 (bookworm), Linux 6.1.0"
  std::string cpu;
  int cores = 0;  ///< that this process may use
  std::int64_t memory_bytes = 0;
  std::vector<std::string> gpus;
  std::string governor;  ///< CPU frequency governor; empty if the kernel has none
};

/// The program that made a run.
struct Build {
  std::string version;
  std::string compiler;
  std::string torch;
  std::string blas;  ///< library and core type, as it answers: "OpenBLAS 0.3.21 (Zen)"
};

void to_json(nlohmann::json& json, const Machine& machine);
void from_json(const nlohmann::json& json, Machine& machine);
void to_json(nlohmann::json& json, const Build& build);
void from_json(const nlohmann::json& json, Build& build);

}  // namespace lockstep::record
