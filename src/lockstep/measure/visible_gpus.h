#pragma once

#include <string>

namespace lockstep::measure {

/// How many GPUs a process of this host sees: those of CUDA_VISIBLE_DEVICES (its value or null is
/// given) where that is set, of MIG instances only one; else those that the driver lists in
/// `driver_folder`.
int visible_gpus(const char* visible_devices,
                 const std::string& driver_folder = "/proc/driver/nvidia/gpus");

}  // namespace lockstep::measure
