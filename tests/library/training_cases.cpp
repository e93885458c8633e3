#include "training_cases.h"

#include <cmath>
#include <string>

#include "training_net.h"

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
  const auto train_it = [](torch::nn::Sequential& net, bool on) {
    for (auto& parameter : net->parameters()) parameter.set_requires_grad(on);
  };
  const auto play = [&](auto& gen, auto& disc, torch::nn::Sequential& critic,
                        torch::optim::Optimizer& go, torch::optim::Optimizer& dop,
                        std::int64_t first, std::int64_t count) {
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
    // The discriminator is frozen in every other step of the generator, as many programs do.
    train_it(critic, first / 100 % 2 == 0);
    go.zero_grad();
    loss(disc(fake), 1).backward();
    go.step();
    train_it(critic, true);
  };
  torch::optim::Adam go(g->parameters(), 1e-2), dop(d->parameters(), 1e-2);
  torch::optim::Adam go1(g1->parameters(), 1e-2), dop1(d1->parameters(), 1e-2);
  const auto plain_g = [&](const torch::Tensor& x) { return g1->forward(x); };
  const auto plain_d = [&](const torch::Tensor& x) { return d1->forward(x); };
  for (int step = 0; step < 10; ++step) {
    const std::int64_t each = 4;
    play(generator, discriminator, d, go, dop, step * 100 + job.rank() * each, each);
    play(plain_g, plain_d, d1, go1, dop1, step * 100, each * job.size());
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

/// Two forwards for each backward, as when a discriminator's losses are added: for longer than
/// squares of the number of passes are exact in the tail.
void run_summed_losses(lockstep::Job& job) {
  torch::nn::Sequential net(torch::nn::Linear(2, 1));
  lockstep::DataParallel ddp(net, job);
  const auto x = torch::ones({1, 2});
  for (int step = 0; step < 4200; ++step) (ddp(x) + ddp(-x)).sum().backward();
  job.print("summed losses agree");
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
  // 16 bits, as under autocast: a mean that is rounded to them would be off by half a deviation.
  lockstep::SyncBatchNorm norm(job, torch::nn::BatchNormOptions(2));
  const auto x = torch::arange(6000).remainder(3).add(99).to(torch::kBFloat16).reshape({3000, 2});
  const auto expected =
      torch::batch_norm(x.to(torch::kFloat), {}, {}, {}, {}, true, 0, 1e-5, false);
  const auto normalised = norm(x);
  if (normalised.scalar_type() != torch::kBFloat16) largest = INFINITY;
  if ((normalised - expected).abs().max().item<double>() > 0.01) largest = INFINITY;
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
  // A checkpoint after a whole pass goes on with the next one.
  torch::serialize::OutputArchive archive;
  sampler.save(archive);
  std::ostringstream bytes;
  archive.save_to(bytes);
  std::istringstream saved(bytes.str());
  torch::serialize::InputArchive loaded;
  loaded.load_from(saved);
  auto resumed = job.sampler(12 * job.size(), 7);
  resumed.load(loaded);
  right = right && sampler.epoch() == 1 && resumed.epoch() == 1;
  std::string order;
  for (resumed.reset(); auto indices = resumed.next(5);) {
    for (const auto index : *indices) order += std::to_string(index) + " ";
  }
  right = right && order == orders[1];
  // A step with a closure.
  auto weight = torch::ones({1}, torch::requires_grad());
  torch::optim::SGD optimizer({weight}, 0.5);
  const auto loss = job.step(optimizer, [&] {
    auto square = weight.square().sum();
    square.backward();
    return square;
  });
  right = right && loss.item<float>() == 1 && weight.item<float>() == 0;
  job.barrier();
  const double all_right = job.sum(right ? 1 : 0);
  job.print(all_right == job.size() ? "helpers agree" : "helpers are wrong");
}
