#pragma once

#include "lockstep/import/log_reader.h"

namespace lockstep::import {

/// timm's train.py: "Train: 0 [  50/1251 (  4%)]  Loss: 6.9 (6.9)  Time: 0.3s, 400.3/s (0.4s, ...".
LogFormat timm_format();

}  // namespace lockstep::import
