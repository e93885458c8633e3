// A training program as a user would write it, with a switch for each thing the tests look at:
// training_program [key=value ...]. Data and first parameters come from formulas that peer.py has
// too.
#include <lockstep/lockstep.h>

#include <cmath>
#include <csignal>
#include <cstdio>
#include <map>
#include <stdexcept>
#include <string>
#include <thread>

namespace {

using Settings = std::map<std::string, std::string>;

struct Options {
  Settings given;
  int number(const std::string& key, int otherwise) const {
    const auto found = given.find(key);
    return found == given.end() ? otherwise : std::stoi(found->second);
  }
  std::string text(const std::string& key, const std::string& otherwise) const {
    const auto found = given.find(key);
    return found == given.end() ? otherwise : found->second;
  }
};

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

torch::Tensor formula(torch::IntArrayRef shape, double frequency, double scale) {
  std::int64_t count = 1;
  for (const auto size : shape) count *= size;
  return (torch::arange(count, torch::kDouble) * frequency + 0.5)
      .sin()
      .mul(scale)
      .to(torch::kFloat)
      .reshape(shape);
}

struct Net : torch::nn::Module {
  explicit Net(const Options& options) : with_extra_(options.number("unused", 0) != 0) {
    one = register_module("one", torch::nn::Linear(8, 16));
    two = register_module("two", torch::nn::Linear(16, 16));
    three = register_module("three", torch::nn::Linear(16, 3));
    if (options.number("norm", 0)) norm = register_module("norm", torch::nn::BatchNorm1d(16));
    if (with_extra_) extra = register_module("extra", torch::nn::Linear(16, 3));
    if (options.number("frozen", 0)) {
      for (auto& parameter : two->parameters()) parameter.set_requires_grad(false);
    }
    torch::NoGradGuard no_grad;
    int index = 0;
    for (auto& parameter : parameters()) {
      if (!norm || parameter.dim() == 2)
        parameter.copy_(formula(parameter.sizes(), 0.7 + 0.1 * index, 0.4));
      ++index;
    }
  }

  torch::Tensor forward(const torch::Tensor& x, bool use_extra) {
    auto y = torch::tanh(one(x));
    y = two(y);
    if (norm) y = norm(y);
    y = torch::tanh(y);
    return with_extra_ && use_extra ? three(y) + extra(y) : three(y);
  }

  torch::nn::Linear one{nullptr}, two{nullptr}, three{nullptr}, extra{nullptr};
  torch::nn::BatchNorm1d norm{nullptr};
  bool with_extra_;
};

/// Examples `first` to `first + count` of an endless set.
std::pair<torch::Tensor, torch::Tensor> examples(std::int64_t first, std::int64_t count) {
  const auto index = torch::arange(first, first + count, torch::kDouble).unsqueeze(1);
  const auto x =
      ((index * 1.7 + torch::arange(8, torch::kDouble) * 0.9 + 0.3).sin() * 1.5).to(torch::kFloat);
  const auto y = ((index.squeeze(1) * 0.61).sin() * 2.999 + 3).floor().fmod(3).to(torch::kLong);
  return {x, y};
}

std::unique_ptr<torch::optim::Optimizer> make_optimizer(const std::string& name,
                                                        std::vector<torch::Tensor> parameters) {
  if (name == "adam") {
    return std::make_unique<torch::optim::Adam>(parameters, torch::optim::AdamOptions(0.01));
  }
  return std::make_unique<torch::optim::SGD>(parameters,
                                             torch::optim::SGDOptions(0.1).momentum(0.9));
}

double distance_between_ranks(lockstep::Job& job, torch::nn::Module& net) {
  double largest = 0;
  for (const auto& parameter : net.parameters()) {
    const auto all = job.gather(parameter);
    largest = std::max(largest, (all - all[0]).abs().max().item<double>());
  }
  for (const auto& buffer : net.buffers()) {
    const auto all = job.gather(buffer).to(torch::kDouble);
    largest = std::max(largest, (all - all[0]).abs().max().item<double>());
  }
  return largest;
}

void print_parameters(lockstep::Job& job, torch::nn::Module& net) {
  for (const auto& entry : net.named_parameters()) {
    const auto flat = entry.value().detach().flatten().contiguous();
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
    zero();
    double total = 0;
    const bool use_extra = step % 3 == 0 ? false : step % 3 == 1 ? job.rank() == 0 : true;
    for (int micro = 0; micro < accumulate; ++micro) {
      const auto run = [&] {
        auto [x, y] = examples(step * global + (micro * job.size() + job.rank()) * mine, mine);
        if (options.number("noise", 0)) {
          torch::manual_seed(1000 * step + job.rank());
          x = torch::randn_like(x);
          y = (x.sum(1) > 0).to(torch::kLong);
        }
        auto loss = torch::cross_entropy_loss(ddp(x, use_extra), y) / accumulate;
        if (wrong == "forward-only" && wrong_here && step == 3) return;
        loss.backward({}, wrong == "twice");
        if (wrong == "twice" && wrong_here && step == 3) loss.backward();
        total += loss.template item<double>();
      };
      if (micro + 1 < accumulate) {
        const auto local = ddp.no_sync();
        run();
      } else {
        run();
      }
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
  lockstep::DataParallel ddp(net, job, parallel_options(options));
  lockstep::Checkpoint checkpoint(job);
  checkpoint.add("net", net);
  Options running = options;
  int step = options.number("from", 0);
  checkpoint.add("step", step);
  const auto resume = [&] {
    if (options.given.count("load") && !checkpoint.load(options.text("load", "")))
      job.print("nothing to load");
    running.given["from"] = std::to_string(step);
  };
  const std::string name = options.text("optimizer", "sgd");
  if (options.number("sharded", 0)) {
    lockstep::ShardedOptimizer optimizer(
        job, net->parameters(),
        [&](std::vector<torch::Tensor> share) { return make_optimizer(name, share); });
    checkpoint.add("optimizer", optimizer);
    resume();
    train(
        running, job, ddp, *net, [&] { optimizer.zero_grad(); }, [&] { optimizer.step(); });
    step = options.number("steps", 50);
    if (options.given.count("save")) checkpoint.save(options.text("save", ""));
  } else {
    const auto optimizer = make_optimizer(name, net->parameters());
    checkpoint.add("optimizer", *optimizer);
    resume();
    train(
        running, job, ddp, *net, [&] { optimizer->zero_grad(); }, [&] { job.step(*optimizer); });
    step = options.number("steps", 50);
    if (options.given.count("save")) checkpoint.save(options.text("save", ""));
  }
  print_parameters(job, *net);
  if (const auto noise = ddp.noise_scale())
    job.print("noise scale " + std::to_string(noise->value));
  job.print("buckets " + std::to_string(ddp.buckets()) + ", backend " + job.backend() +
            ", ranks differ by " + std::to_string(distance_between_ranks(job, *net)));
}

/// Ranks with 3, 4, 5, ... batches of one example each; compares with one network that gets the
/// sum.
void run_uneven(lockstep::Job& job) {
  auto net = std::make_shared<Net>(Options{{{"norm", "0"}}});
  auto reference = std::make_shared<Net>(Options{});
  lockstep::DataParallel ddp(net, job, {});
  torch::optim::SGD optimizer(net->parameters(), 0.1);
  torch::optim::SGD plain(reference->parameters(), 0.1);
  const auto batch_of = [&](int rank, int step) { return examples(100 * rank + step, 1); };
  {
    auto uneven = ddp.join();
    for (int step = 0; step < 3 + job.rank(); ++step) {
      const auto [x, y] = batch_of(job.rank(), step);
      optimizer.zero_grad();
      torch::cross_entropy_loss(ddp(x, false), y).backward();
      optimizer.step();
    }
  }
  for (int step = 0; step < 3 + job.size() - 1; ++step) {
    plain.zero_grad();
    for (int rank = 0; rank < job.size(); ++rank) {
      if (step >= 3 + rank) continue;
      const auto [x, y] = batch_of(rank, step);
      (torch::cross_entropy_loss(reference->forward(x, false), y) / job.size()).backward();
    }
    plain.step();
  }
  double largest = 0;
  for (std::size_t i = 0; i < net->parameters().size(); ++i) {
    largest = std::max(
        largest, (net->parameters()[i] - reference->parameters()[i]).abs().max().item<double>());
  }
  const double ranks = distance_between_ranks(job, *net);
  const double worst = job.gather(torch::tensor(largest, torch::kDouble)).max().item<double>();
  job.print(worst < 1e-6 && ranks == 0 ? "uneven inputs agree"
                                       : "uneven inputs differ by " + std::to_string(worst));
}

/// A generator and a discriminator with two optimizers; gradients of both against one process.
void run_gan(lockstep::Job& job) {
  const auto make = [](std::int64_t in, std::int64_t out) {
    torch::nn::Sequential net(torch::nn::Linear(in, 12), torch::nn::Tanh(),
                              torch::nn::Linear(12, out));
    torch::NoGradGuard no_grad;
    for (auto& parameter : net->parameters()) parameter.copy_(formula(parameter.sizes(), 0.9, 0.5));
    return net;
  };
  auto g = make(4, 8), d = make(8, 1), g1 = make(4, 8), d1 = make(8, 1);
  lockstep::DataParallel generator(g, job, {.name = "the generator"});
  lockstep::DataParallel discriminator(d, job, {.name = "the discriminator"});
  const auto play = [](auto& gen, auto& disc, torch::optim::Optimizer& go,
                       torch::optim::Optimizer& dop, std::int64_t first, std::int64_t count) {
    const auto real = examples(first, count).first;
    const auto noise = examples(first + 1000, count).first.narrow(1, 0, 4);
    const auto loss = [](const torch::Tensor& output, double target) {
      return torch::binary_cross_entropy_with_logits(output, torch::full_like(output, target));
    };
    dop.zero_grad();
    loss(disc(real), 1).backward();
    const torch::Tensor fake = gen(noise);
    loss(disc(fake.detach()), 0).backward();
    dop.step();
    go.zero_grad();
    loss(disc(fake), 1).backward();
    go.step();
  };
  torch::optim::Adam go(g->parameters(), 1e-2), dop(d->parameters(), 1e-2);
  torch::optim::Adam go1(g1->parameters(), 1e-2), dop1(d1->parameters(), 1e-2);
  const auto plain_g = [&](const torch::Tensor& x) { return g1->forward(x); };
  const auto plain_d = [&](const torch::Tensor& x) { return d1->forward(x); };
  for (int step = 0; step < 10; ++step) {
    const std::int64_t each = 4;
    play(generator, discriminator, go, dop, step * 100 + job.rank() * each, each);
    play(plain_g, plain_d, go1, dop1, step * 100, each * job.size());
  }
  double largest = 0;
  for (auto [a, b] : {std::pair{g, g1}, {d, d1}}) {
    for (std::size_t i = 0; i < a->parameters().size(); ++i) {
      largest =
          std::max(largest, (a->parameters()[i] - b->parameters()[i]).abs().max().item<double>());
    }
  }
  job.print(largest < 2e-5 ? "two modules agree"
                           : "two modules differ by " + std::to_string(largest));
}

/// SyncBatchNorm against one batch norm over all examples.
void run_batch_norm(lockstep::Job& job) {
  const auto make = [] {
    torch::nn::Sequential net(torch::nn::Linear(8, 6), torch::nn::BatchNorm1d(6), torch::nn::Tanh(),
                              torch::nn::Linear(6, 3));
    torch::NoGradGuard no_grad;
    for (auto& parameter : net->parameters()) parameter.copy_(formula(parameter.sizes(), 1.1, 0.6));
    return net;
  };
  auto plain = make();
  auto net = lockstep::convert_sync_batch_norm(make(), job);
  lockstep::DataParallel ddp(net, job);
  torch::optim::SGD optimizer(net->parameters(), 0.2), reference(plain->parameters(), 0.2);
  for (int step = 0; step < 10; ++step) {
    const auto [x, y] = examples(step * 100 + job.rank() * 5, 5);
    optimizer.zero_grad();
    torch::cross_entropy_loss(ddp(x), y).backward();
    optimizer.step();
    const auto [xs, ys] = examples(step * 100, 5 * job.size());
    reference.zero_grad();
    torch::cross_entropy_loss(plain->forward(xs), ys).backward();
    reference.step();
  }
  double largest = 0;
  const auto compare = [&](const torch::Tensor& a, const torch::Tensor& b) {
    largest = std::max(largest, (a - b).abs().max().item<double>());
  };
  for (std::size_t i = 0; i < net->parameters().size(); ++i)
    compare(net->parameters()[i], plain->parameters()[i]);
  for (std::size_t i = 0; i < net->buffers().size(); ++i)
    compare(net->buffers()[i], plain->buffers()[i]);
  job.print(largest < 1e-5 ? "batch norms agree"
                           : "batch norms differ by " + std::to_string(largest));
}

void run_helpers(lockstep::Job& job) {
  bool right = job.sum(job.rank() + 1.0) == job.size() * (job.size() + 1) / 2.0;
  right = right && job.gather(10.0 * job.rank()).back() == 10.0 * (job.size() - 1);
  auto tensor = torch::full({2, 3}, job.rank(), torch::kLong);
  right = right && job.gather(tensor).size(0) == job.size() &&
          job.gather(tensor)[job.size() - 1][1][2].item<int>() == job.size() - 1;
  job.broadcast_(tensor, job.size() - 1);
  right = right && tensor[0][0].item<int>() == job.size() - 1;
  right = right && job.broadcast("from rank " + std::to_string(job.rank()), 0) == "from rank 0";
  auto mean = torch::full({4}, static_cast<float>(job.rank()));
  job.mean_(mean);
  right = right && std::abs(mean[0].item<float>() - (job.size() - 1) / 2.0F) < 1e-6;
  // Every example once per epoch, in another order in the next; the loader's copy follows.
  auto sampler = job.sampler(12 * job.size(), 7);
  std::string orders[3];
  for (auto& order : orders) {
    sampler.reset();
    std::vector<int> seen(12 * job.size(), 0);
    while (auto indices = sampler.next(5)) {
      for (const auto index : *indices) {
        ++seen[index];
        order += std::to_string(index) + " ";
      }
    }
    auto all = torch::tensor(seen);
    job.sum_(all);
    right = right && (all == 1).all().item<bool>();
    if (&order == &orders[1]) sampler.set_epoch(0);
  }
  right = right && orders[0] != orders[1] && orders[0] == orders[2];
  job.barrier();
  const double all_right = job.sum(right ? 1 : 0);
  job.print(all_right == job.size() ? "helpers agree" : "helpers are wrong");
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
  if (what == "norm") run_batch_norm(job);
  if (what == "helpers") run_helpers(job);
}
