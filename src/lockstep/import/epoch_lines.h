#pragma once

#include "lockstep/import/log_reader.h"

namespace lockstep::import {

/// Any script that prints epochs with named figures: "[Epoch 3] global=15141 img/s",
/// "val_acc=34.8%", "Train Epoch: 1 [640/60000 (1%)] Loss: 0.3", "Epoch 2, loss 0.4, time 12.3 s".
LogFormat epoch_lines_format();

}  // namespace lockstep::import
