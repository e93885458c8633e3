#include "probe.h"

#include <torch/torch.h>

#include <nlohmann/json.hpp>

#include "blas.h"
#include "lockstep/comm/backends/backend_table.h"
#include "lockstep/train/recipes/recipe.h"

namespace lockstep::worker {

std::string torch_version() {
  return TORCH_VERSION;
}

std::string known_names() {
  std::vector<std::string> recipes;
  for (const train::Recipe& recipe : train::all_recipes()) recipes.push_back(recipe.name);
  const nlohmann::json answer{{"recipes", recipes}};
  return answer.dump();
}

namespace {

std::vector<std::string> available_backends() {
  std::vector<std::string> names;
  for (const comm::BackendEntry& entry : comm::backends()) {
    if (entry.available()) names.emplace_back(entry.name);
  }
  return names;
}

}  // namespace

std::string probe() {
  const nlohmann::json answer{
      {"torch", torch_version()},         {"cuda", torch::cuda::is_available()},
      {"backends", available_backends()}, {"blas", blas_name()},
      {"blas_gflops", blas_gflops()},     {"onednn_gflops", onednn_gflops()},
      {"threads", at::get_num_threads()}};
  return answer.dump();
}

}  // namespace lockstep::worker
