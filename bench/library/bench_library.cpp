// Steps of the library against other ways to train the same network, in alternation in one process
// per rank: bench_library lenet|resnet18 [rounds] [batch per rank] [way[;way...]]. With names of
// ways it makes no other, and prints the peak memory of a rank. Start it with LOCKSTEP_WORKERS=N.
//   plain     forward, backward, torch::optim::SGD; nothing is exchanged (one rank only)
//   blocking  the same, then one all-reduce of Gloo per parameter and a division
//   engine    GradientSync and the fused optimizer, as lockstep train uses them
//   own sgd   DataParallel with lockstep::optim::SGD; "own adam" with its Adam
//   optimizers  the steps of the optimizers alone
//   adam      DataParallel with torch::optim::Adam; "adam, sharded" with a sharded one
#include <fcntl.h>
#include <lockstep/lockstep.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <torch/csrc/distributed/c10d/FileStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>

#include "lockstep/comm/backends/shm/shared_memory.h"
#include "lockstep/nets/networks/resnet18_cifar.h"
#include "lockstep/train/optim/optimizer.h"
#include "lockstep/train/sync/flat_parameters.h"
#include "lockstep/train/sync/gradient_sync.h"

using namespace lockstep;

namespace {

/// The network of the PyTorch project's example.
struct LeNet final : nets::Network {
  LeNet() {
    for (auto& [name, module] : {std::pair{"conv1", conv1}, {"conv2", conv2}})
      register_module(name, module);
    for (auto& [name, module] : {std::pair{"fc1", fc1}, {"fc2", fc2}})
      register_module(name, module);
  }
  torch::Tensor forward(const torch::Tensor& images) override {
    auto x = torch::relu(torch::max_pool2d(conv1(images), 2));
    x = torch::relu(torch::max_pool2d(conv2(x), 2)).view({-1, 320});
    return fc2(torch::relu(fc1(x)));
  }
  torch::nn::Conv2d conv1{torch::nn::Conv2dOptions(1, 10, 5)},
      conv2{torch::nn::Conv2dOptions(10, 20, 5)};
  torch::nn::Linear fc1{320, 50}, fc2{50, 10};
};

struct Batch {
  torch::Tensor images, labels;
};

/// One way to make a step.
struct Way {
  std::string name;
  std::function<void(const Batch&)> step;
  std::vector<double> seconds{};
};

using MakeNet = std::function<std::shared_ptr<nets::Network>()>;

torch::Tensor loss_of(const torch::Tensor& output, const Batch& batch) {
  return torch::cross_entropy_loss(output, batch.labels);
}

const auto kSgd = torch::optim::SGDOptions(0.01).momentum(0.9);
const torch::optim::AdamOptions kAdam(1e-4);

Way plain(const MakeNet& make) {
  auto net = make();
  auto optimizer = std::make_shared<torch::optim::SGD>(net->parameters(), kSgd);
  return {"plain", [=](const Batch& batch) {
            optimizer->zero_grad();
            loss_of(net->forward(batch.images), batch).backward();
            optimizer->step();
          }};
}

template <class Optimizer, class Options>
Way with_library(const std::string& name, const MakeNet& make, Job& job, const Options& options) {
  auto net = make();
  auto ddp = std::make_shared<DataParallel<nets::Network>>(net, job);
  auto optimizer = std::make_shared<Optimizer>(net->parameters(), options);
  return {name, [=](const Batch& batch) {
            optimizer->zero_grad();
            loss_of((*ddp)(batch.images), batch).backward();
            optimizer->step();
          }};
}

Way sharded_adam(const MakeNet& make, Job& job) {
  auto net = make();
  auto ddp = std::make_shared<DataParallel<nets::Network>>(net, job);
  auto shards =
      std::make_shared<ShardedOptimizer>(shard<torch::optim::Adam>(job, net->parameters(), kAdam));
  return {"adam, sharded", [=](const Batch& batch) {
            shards->zero_grad();
            loss_of((*ddp)(batch.images), batch).backward();
            shards->step();
          }};
}

/// The optimizer's step alone.
template <class Optimizer, class Options>
Way step_of(const std::string& name, const MakeNet& make, const Options& options) {
  auto net = make();
  for (auto& parameter : net->parameters()) {
    parameter.mutable_grad() = torch::full_like(parameter, 1e-6F);
  }
  auto optimizer = std::make_shared<Optimizer>(net->parameters(), options);
  return {name, [=](const Batch&) { optimizer->step(); }};
}

Way blocking(const MakeNet& make, Job& job, const std::string& file) {
  auto net = make();
  auto optimizer = std::make_shared<torch::optim::SGD>(net->parameters(), kSgd);
  auto store = c10::make_intrusive<c10d::FileStore>(file, job.size());
  auto settings = c10d::ProcessGroupGloo::Options::create();
  settings->devices = {c10d::ProcessGroupGloo::createDeviceForHostname("127.0.0.1")};
  auto group = c10::make_intrusive<c10d::ProcessGroupGloo>(store, job.rank(), job.size(), settings);
  const int ranks = job.size();
  return {"blocking", [=](const Batch& batch) {
            optimizer->zero_grad();
            loss_of(net->forward(batch.images), batch).backward();
            std::vector<c10::intrusive_ptr<c10d::Work>> works;
            for (auto& parameter : net->parameters()) {
              std::vector<torch::Tensor> one{parameter.grad()};
              works.push_back(group->allreduce(one));
            }
            for (auto& work : works) work->wait();
            for (auto& parameter : net->parameters()) parameter.mutable_grad().div_(ranks);
            optimizer->step();
          }};
}

Way engine(const MakeNet& make, Job& job) {
  struct Parts {
    std::shared_ptr<nets::Network> net;
    std::unique_ptr<comm::Communicator> communicator;
    SystemClock clock;
    std::optional<train::FlatParameters> flat;
    std::optional<train::GradientSync> sync;
    std::optional<train::Optimizer> optimizer;
  };
  auto parts = std::make_shared<Parts>();
  parts->net = make();
  const int made = ::memfd_create("bench", 0);
  const std::string path =
      job.broadcast("/proc/" + std::to_string(::getpid()) + "/fd/" + std::to_string(made));
  const int memory = job.is_main() ? made : ::open(path.c_str(), O_RDWR);
  parts->communicator = comm::make_shared_memory({.rank = job.rank(), .size = job.size()}, memory);
  const auto parameters = train::trainable_parameters(*parts->net);
  const auto plan = comm::plan_buckets(train::element_counts(parameters), Bytes{4 << 20});
  parts->flat.emplace(parameters, plan);
  parts->sync.emplace(parameters, plan, *parts->communicator, train::SyncOptions{}, parts->clock);
  parts->optimizer.emplace(
      train::OptimizerOptions{.momentum = 0.9},
      train::ParameterLayout{
          .groups = {{0, plan.tail_begin}}, .tensors = {}, .count = plan.tail_begin},
      torch::kCPU);
  const int ranks = job.size();
  const auto count = static_cast<std::int64_t>(plan.tail_begin);
  return {"engine", [=](const Batch& batch) {
            parts->sync->begin_step();
            (loss_of(parts->net->forward(batch.images), batch) / ranks).backward();
            parts->sync->finish();
            parts->optimizer->step(parts->flat->flat(), parts->sync->flat().narrow(0, 0, count),
                                   0.01);
          }};
}

double timed(Job& job, Way& way, const Batch& batch, int steps) {
  job.barrier();
  const auto began = std::chrono::steady_clock::now();
  for (int i = 0; i < steps; ++i) way.step(batch);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  const auto all = job.gather(took.count() / steps);
  return *std::max_element(all.begin(), all.end());
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

}  // namespace

int main(int argc, char** argv) {
  auto job = lockstep::join(argc, argv);
  const std::string what = argc > 1 ? argv[1] : "lenet";
  const bool resnet = what == "resnet18";
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 9;
  const int size = argc > 3 ? std::atoi(argv[3]) : resnet ? 8 : 32;
  const int steps = resnet ? 2 : 40;
  const MakeNet make = [&]() -> std::shared_ptr<nets::Network> {
    torch::manual_seed(1);
    if (resnet) return std::make_shared<nets::ResNet18Cifar>();
    return std::make_shared<LeNet>();
  };
  const Batch batch{resnet ? torch::randn({size, 3, 32, 32}) : torch::randn({size, 1, 28, 28}),
                    torch::randint(10, {size})};
  const std::string file = job.broadcast("/tmp/bench-library-" + std::to_string(::getpid()));
  const std::string only = argc > 4 ? argv[4] : "";
  const auto wanted = [&](const std::string& name) {
    return only.empty() || (";" + only + ";").find(";" + name + ";") != std::string::npos;
  };
  std::vector<Way> ways;
  if (wanted("library"))
    ways.push_back(with_library<torch::optim::SGD>("library", make, job, kSgd));
  if (wanted("own sgd")) ways.push_back(with_library<optim::SGD>("own sgd", make, job, kSgd));
  if (wanted("engine")) ways.push_back(engine(make, job));
  if (wanted("adam")) ways.push_back(with_library<torch::optim::Adam>("adam", make, job, kAdam));
  if (wanted("own adam")) ways.push_back(with_library<optim::Adam>("own adam", make, job, kAdam));
  if (wanted("adam, sharded")) ways.push_back(sharded_adam(make, job));
  if (wanted("blocking") && job.size() > 1) ways.push_back(blocking(make, job, file));
  if (wanted("plain") && job.size() == 1) ways.push_back(plain(make));
  if (only == "optimizers") {
    ways.push_back(step_of<torch::optim::SGD>("sgd step", make, kSgd));
    ways.push_back(step_of<optim::SGD>("own sgd step", make, kSgd));
    ways.push_back(step_of<torch::optim::Adam>("adam step", make, kAdam));
    ways.push_back(step_of<optim::Adam>("own adam step", make, kAdam));
  }
  if (ways.empty())
    throw Error(ErrorKind::kUsage, "there is no way '" + only + "' with these ranks");
  for (Way& way : ways) timed(job, way, batch, 2);
  for (int round = 0; round < rounds; ++round) {
    for (Way& way : ways) way.seconds.push_back(timed(job, way, batch, steps));
  }
  job.print(what + ", " + std::to_string(job.size()) + " ranks, batch " + std::to_string(size) +
            " per rank, " + std::to_string(rounds) + " rounds; ratio of times to " + ways[0].name +
            " in the same round: median (min..max)");
  for (const Way& way : ways) {
    std::vector<double> ratios;
    for (int r = 0; r < rounds; ++r) ratios.push_back(way.seconds[r] / ways[0].seconds[r]);
    char line[160];
    std::snprintf(line, sizeof line, "%-14s %9.3f ms  %.3f (%.3f..%.3f)", way.name.c_str(),
                  1e3 * median(way.seconds), median(ratios),
                  *std::min_element(ratios.begin(), ratios.end()),
                  *std::max_element(ratios.begin(), ratios.end()));
    job.print(line);
  }
  if (!only.empty()) {
    rusage usage{};
    ::getrusage(RUSAGE_SELF, &usage);
    const auto peaks = job.gather(static_cast<double>(usage.ru_maxrss) / 1024);
    job.print("peak memory of a rank: " +
              std::to_string(*std::max_element(peaks.begin(), peaks.end())) + " MB");
  }
  if (job.is_main()) ::unlink(file.c_str());
}
