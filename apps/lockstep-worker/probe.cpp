#include "probe.h"

#include <torch/torch.h>

#include <nlohmann/json.hpp>

#include "blas.h"
#include "lockstep/comm/backends/backend_table.h"
#include "lockstep/train/recipes/recipe.h"
#include "lockstep/train/sync/device.h"

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

std::string probe() {
  std::vector<std::string_view> backends;
  for (const record::Backend backend : comm::available_backends()) {
    backends.push_back(record::name_of(backend));
  }
  const nlohmann::json answer{{"torch", torch_version()},
                              {"cuda", torch::cuda::is_available()},
                              {"gpus", train::Device::visible_gpus()},
                              {"backends", backends},
                              {"blas", blas_name()},
                              {"blas_gflops", blas_gflops()},
                              {"onednn_gflops", onednn_gflops()},
                              {"threads", at::get_num_threads()}};
  return answer.dump();
}

}  // namespace lockstep::worker
