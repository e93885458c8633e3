// A training program as a user would write it, with a switch for each thing the tests look at:
// training_program [key=value ...]. Data and first parameters come from formulas that peer.py has
// too.
#include <lockstep/lockstep.h>

#include <csignal>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <thread>

#include "training_cases.h"
#include "training_net.h"

namespace {

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const std::size_t equals = word.find('=');
    options.given[word.substr(0, equals)] =
        equals == std::string::npos ? "1" : word.substr(equals + 1);
  }
  return options;
}

std::unique_ptr<torch::optim::Optimizer> make_optimizer(const std::string& name,
                                                        std::vector<torch::Tensor> parameters) {
  if (name == "fused-adam") {
    return std::make_unique<lockstep::optim::Adam>(parameters, torch::optim::AdamOptions(0.01));
  }
  if (name == "adam") {
    return std::make_unique<torch::optim::Adam>(parameters, torch::optim::AdamOptions(0.01));
  }
  return std::make_unique<torch::optim::SGD>(parameters,
                                             torch::optim::SGDOptions(0.1).momentum(0.9));
}

void print_parameters(lockstep::Job& job, torch::nn::Module& net) {
  for (const auto& entry : net.named_parameters()) {
    const auto flat = entry.value().detach().cpu().flatten();
    std::string line = "parameter " + entry.key();
    for (std::int64_t i = 0; i < flat.numel(); ++i) {
      char text[32];
      std::snprintf(text, sizeof text, " %.9g", static_cast<double>(flat.data_ptr<float>()[i]));
      line += text;
    }
    job.print(line);
  }
}

/// What goes wrong on rank 1 at step 3, if anything.
void misbehave(const std::string& how, lockstep::Job& job, std::int64_t step) {
  if (job.rank() != 1 || step != 3) return;
  if (how == "die") std::raise(SIGKILL);
  if (how == "throw") throw std::runtime_error("the data of rank 1 is bad");
  if (how == "torch") TORCH_CHECK(false, "the shapes of rank 1 do not fit");
  if (how == "hang") std::this_thread::sleep_for(std::chrono::minutes(5));
  if (how == "number") throw 42;
  if (how == "exit") std::exit(0);
}

template <class Ddp>
void train(const Options& options, lockstep::Job& job, Ddp& ddp, Net& net,
           const std::function<void()>& zero, const std::function<void()>& update) {
  const std::int64_t global = options.number("batch", 32);
  const int accumulate = options.number("accumulate", 1);
  const std::int64_t mine = global / job.size() / accumulate;
  const std::string wrong = options.text("wrong", "");
  const bool wrong_here = job.rank() == 1 || options.number("everywhere", 0) != 0;
  for (std::int64_t step = options.number("from", 0); step < options.number("steps", 50); ++step) {
    misbehave(wrong, job, step);
    if (wrong == "leave" && job.rank() == options.number("who", 1) && step == 3) return;
    if (wrong == "broadcast" && step == 3) {
      auto tensor = torch::zeros({job.rank() == 1 ? 3 : 2});
      job.broadcast_(tensor);
    }
    if (wrong == "root" && step == 3) (void)job.broadcast("text", job.size());
    zero();
    double total = 0;
    const bool use_extra = step % 3 == 0 ? false : step % 3 == 1 ? job.rank() == 0 : true;
    for (int micro = 0; micro < accumulate; ++micro) {
      const auto local = ddp.no_sync(micro + 1 < accumulate);
      auto [x, y] = examples(step * global + (micro * job.size() + job.rank()) * mine, mine);
      if (options.number("noise", 0)) {
        torch::manual_seed(1000 * step + job.rank());
        x = torch::randn_like(x);
        y = (x.sum(1) > 0).to(torch::kLong);
      }
      auto loss =
          torch::cross_entropy_loss(ddp(x.to(job.device()), use_extra), y.to(job.device())) /
          accumulate;
      if (wrong == "forward-only" && wrong_here && step == 3) continue;
      loss.backward({}, wrong == "twice");
      if (wrong == "twice" && wrong_here && step == 3) loss.backward();
      total += loss.template item<double>();
    }
    if (wrong == "replaced" && wrong_here && step == 3)
      net.three = net.replace_module("three", torch::nn::Linear(16, 3));
    update();
    char text[64];
    std::snprintf(text, sizeof text, "loss %lld %.9g", static_cast<long long>(step),
                  wrong.empty() ? job.mean(total) : total);
    job.print(text);
  }
}

lockstep::DataParallelOptions parallel_options(const Options& options) {
  lockstep::DataParallelOptions parallel;
  parallel.bucket_bytes = options.number("bucket", 600);
  parallel.static_graph = options.number("static", 0) != 0;
  parallel.noise_scale = options.number("noise", 0) != 0;
  const std::string wire = options.text("wire", "float");
  if (wire == "half") parallel.wire = lockstep::Wire::kFloat16;
  if (wire == "bfloat") parallel.wire = lockstep::Wire::kBFloat16;
  return parallel;
}

void run_training(const Options& options, lockstep::Job& job) {
  auto net = std::make_shared<Net>(options);
  if (job.rank() > 0 && options.number("perturb", 1)) {
    torch::NoGradGuard no_grad;
    for (auto& parameter : net->parameters()) parameter.add_(1);
  }
  if (options.text("wrong", "") == "shapes" && job.rank() == 1) {
    net->three = net->replace_module("three", torch::nn::Linear(16, 4));
  }
  if (options.text("wrong", "") == "count" && job.rank() == 1) {
    net->register_module("another", torch::nn::Linear(1, 1));
  }
  net->to(job.device());
  lockstep::DataParallel ddp(net, job, parallel_options(options));
  lockstep::Checkpoint checkpoint(job);
  checkpoint.add("net", net);
  Options running = options;
  int step = options.number("from", 0);
  auto average = torch::zeros({1}, torch::kDouble);  // a tensor of the program's own
  checkpoint.add("step", step).add("average", average);
  const auto resume = [&] {
    if (options.given.count("load") && !checkpoint.load(options.text("load", "")))
      job.print("nothing to load");
    running.given["from"] = std::to_string(step);
  };
  const std::string name = options.text("optimizer", "sgd");
  std::optional<torch::optim::StepLR> schedule;
  const auto add_schedule = [&](torch::optim::Optimizer& optimizer) {
    if (!options.number("schedule", 0)) return;
    schedule.emplace(optimizer, 7, 0.5);
    checkpoint.add("schedule", *schedule);
  };
  const auto end_step = [&](const std::function<void()>& update) {
    update();
    if (schedule) schedule->step();
    average.mul_(0.9).add_(0.1);
  };
  if (options.number("sharded", 0)) {
    lockstep::ShardedOptimizer optimizer(
        job, net->parameters(),
        [&](std::vector<torch::Tensor> share) { return make_optimizer(name, share); });
    checkpoint.add("optimizer", optimizer);
    add_schedule(optimizer.local());
    resume();
    train(
        running, job, ddp, *net, [&] { optimizer.zero_grad(); },
        [&] { end_step([&] { optimizer.step(); }); });
    step = options.number("steps", 50);
    if (options.given.count("save")) checkpoint.save(options.text("save", ""));
  } else {
    const auto optimizer = make_optimizer(name, net->parameters());
    checkpoint.add("optimizer", *optimizer);
    add_schedule(*optimizer);
    resume();
    train(
        running, job, ddp, *net,
        [&] { options.number("none", 0) ? net->zero_grad(true) : optimizer->zero_grad(); },
        [&] { end_step([&] { job.step(*optimizer); }); });
    step = options.number("steps", 50);
    if (options.given.count("save")) checkpoint.save(options.text("save", ""));
  }
  if (options.text("wrong", "") == "leave" && job.rank() == options.number("who", 1)) return;
  print_parameters(job, *net);
  job.print("parameter average " + std::to_string(job.mean(average.item<double>())));
  if (const auto noise = ddp.noise_scale())
    job.print("noise scale " + std::to_string(noise->value));
  job.print("buckets " + std::to_string(ddp.buckets()) + ", backend " + job.backend() +
            ", ranks differ by " + std::to_string(distance_between_ranks(job, *net)));
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse(argc, argv);
  lockstep::JoinOptions joining;
  joining.backend = options.text("backend", "auto");
  auto job = lockstep::join(argc, argv, joining);
  const std::string what = options.text("do", "train");
  if (what == "train") run_training(options, job);
  if (what == "uneven") run_uneven(job);
  if (what == "gan") run_gan(job);
  if (what == "summed") run_summed_losses(job);
  if (what == "norm") run_batch_norm(job);
  if (what == "helpers") run_helpers(job);
  if (what == "optimizers") run_optimizers(job);
}
