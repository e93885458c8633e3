#include "probe.h"

#include <torch/torch.h>

#include <nlohmann/json.hpp>

#include "blas.h"
#include "lockstep/comm/c10d/nccl.h"
#include "lockstep/comm/mpi/mpi_module.h"
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

std::vector<std::string> backends() {
  std::vector<std::string> names{"shm", "tcp", "hierarchical", "gloo"};
  if (comm::has_mpi()) names.emplace_back("mpi");
  if (comm::has_nccl()) names.emplace_back("nccl");
  return names;
}

}  // namespace

std::string probe() {
  const nlohmann::json answer{
      {"torch", torch_version()},        {"cuda", torch::cuda::is_available()},
      {"backends", backends()},          {"blas", blas_name()},
      {"blas_gflops", blas_gflops()},    {"onednn_gflops", onednn_gflops()},
      {"threads", at::get_num_threads()}};
  return answer.dump();
}

}  // namespace lockstep::worker
