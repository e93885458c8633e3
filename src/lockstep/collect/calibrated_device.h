#pragma once

#include <optional>
#include <string>

#include "lockstep/predict/devices/device_table.h"

namespace lockstep::collect {

/// A device by name: from the data sheets, else a processor that `lockstep bench device` measured
/// ("cpu", "cpu:THREADS", a host's name). Throws kUsage where neither has it.
predict::Device device_named(const std::string& name, const std::string& store_path);

/// The same; nothing where neither has it.
std::optional<predict::Device> known_device(const std::string& name, const std::string& store_path);

}  // namespace lockstep::collect
