#include "lockstep/predict/devices/device_table.h"

#include <cctype>

namespace lockstep::predict {
namespace {

/// Of data-centre parts that publish both clocks; used where a base clock is not published.
constexpr double kUsualBaseOverBoost = 0.85;

std::string plain(std::string_view text) {
  std::string result;
  for (char c : text) {
    if (std::isalnum(static_cast<unsigned char>(c))) {
      result += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
  }
  return result;
}

}  // namespace

double Device::sustained_flops() const {
  if (calibrated) return flops;
  const double ratio = base_over_boost > 0 ? base_over_boost : kUsualBaseOverBoost;
  return flops * (1 + ratio) / 2;
}

const std::vector<Device>& device_table() {
  // Peak FP32, memory bandwidth, memory, base and boost clock in MHz from the vendor's data sheets.
  static const std::vector<Device> devices{
      {"t4", 8.1e12, 320e9, 16e9, 585.0 / 1590},
      {"p100", 10.6e12, 732e9, 16e9, 1328.0 / 1480},
      {"v100", 15.7e12, 900e9, 16e9, 1312.0 / 1530},
      {"v100s", 16.4e12, 1134e9, 32e9, 1245.0 / 1597},
      {"a10", 31.2e12, 600e9, 24e9, 885.0 / 1695},
      {"a100", 19.5e12, 1555e9, 40e9, 1095.0 / 1410},
      {"l4", 30.3e12, 300e9, 24e9, 795.0 / 2040},
      {"l40s", 91.6e12, 864e9, 48e9, 1110.0 / 2520},
      {"h100", 67e12, 3350e9, 80e9},
      {"h200", 67e12, 4800e9, 141e9},
      {"b200", 75e12, 7700e9, 180e9},
      {"rtx3090", 35.6e12, 936e9, 24e9, 1395.0 / 1695},
      {"rtx4090", 82.6e12, 1008e9, 24e9, 2235.0 / 2520},
  };
  return devices;
}

std::optional<Device> find_device(std::string_view name) {
  const std::string wanted = plain(name);
  // The longest name that occurs wins: "V100S" contains "v100" too, "L40S" contains "l4".
  const Device* best = nullptr;
  for (const Device& device : device_table()) {
    const std::size_t at = wanted.find(device.name);
    if (at == std::string::npos) continue;
    const bool starts = at == 0 || !std::isdigit(static_cast<unsigned char>(wanted[at - 1]));
    const std::size_t after = at + device.name.size();
    const bool ends = after >= wanted.size() ||
                      !std::isdigit(static_cast<unsigned char>(wanted[after])) ||
                      !std::isdigit(static_cast<unsigned char>(device.name.back()));
    // "v100sxm2" is a V100 on an SXM2 board, not a V100S.
    const bool board = device.name == "v100s" && wanted.compare(at, 7, "v100sxm") == 0;
    if (!starts || !ends || board) continue;
    if (best == nullptr || device.name.size() > best->name.size()) best = &device;
  }
  if (best == nullptr) return std::nullopt;
  return *best;
}

}  // namespace lockstep::predict
