#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "lockstep/predict/devices/device_transfer.h"
#include "lockstep/report/render/table.h"

namespace lockstep::report {

/// The roofline of a step on the target, layer by layer.
Table layers_table(const predict::DeviceTransfer& transfer);
/// The ratio of the devices and the predicted times, one sentence per line.
std::string transfer_text(const predict::DeviceTransfer& transfer, std::int64_t workers);
nlohmann::json transfer_json(const predict::DeviceTransfer& transfer, std::int64_t workers);

}  // namespace lockstep::report
