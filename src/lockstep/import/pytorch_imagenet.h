#pragma once

#include "lockstep/import/log_reader.h"

namespace lockstep::import {

/// The stdout of PyTorch's examples/imagenet main.py, of scripts grown from it (apex: Speed) and of
/// torchvision's references (img/s, acc1, Total time).
LogFormat pytorch_imagenet_format();

}  // namespace lockstep::import
