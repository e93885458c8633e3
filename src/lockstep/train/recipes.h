#pragma once

#include "lockstep/train/recipe.h"

namespace lockstep::train {

// Each in a file of its own.
Recipe fashion_recipe();
Recipe cifar_resnet18_recipe();
Recipe gan_recipe();
Recipe transfer_recipe();
Recipe steering_recipe();
Recipe script_recipe();

}  // namespace lockstep::train
