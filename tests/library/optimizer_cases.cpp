#include <map>
#include <string>

#include "training_cases.h"
#include "training_net.h"

namespace {

/// A network with what optimizers meet: weights whose channels come last in memory, a large tensor,
/// a second group of parameters, and some that only every other step uses.
struct Subject : torch::nn::Module {
  torch::nn::Conv2d first{register_module("first", torch::nn::Conv2d(2, 6, 3))};
  torch::nn::Linear large{register_module("large", torch::nn::Linear(6 * 36, 300))};
  torch::nn::Linear last{register_module("last", torch::nn::Linear(300, 3))};
  torch::nn::Linear extra{register_module("extra", torch::nn::Linear(300, 3))};

  Subject() {
    const torch::NoGradGuard no_grad;
    first->weight.set_data(first->weight.contiguous(torch::MemoryFormat::ChannelsLast));
    int index = 0;
    for (auto& parameter : parameters())
      parameter.copy_(formula(parameter.sizes(), 0.7 + 0.1 * index++, 0.2));
  }
  torch::Tensor forward(const torch::Tensor& x, bool use_extra) {
    const auto y = torch::tanh(large(torch::tanh(first(x)).flatten(1)));
    return use_extra ? last(y) + extra(y) : last(y);
  }
};

template <class Optimizer, class Options>
std::unique_ptr<Optimizer> make(Subject& subject, const Options& options, const Options& of_last) {
  auto rest = subject.first->parameters();
  for (const auto& part : {subject.large, subject.extra}) {
    for (const auto& parameter : part->parameters()) rest.push_back(parameter);
  }
  std::vector<torch::optim::OptimizerParamGroup> groups;
  groups.emplace_back(rest, std::make_unique<Options>(options));
  groups.emplace_back(subject.last->parameters(), std::make_unique<Options>(of_last));
  return std::make_unique<Optimizer>(std::move(groups), options);
}

/// Steps `from` to `to`; the loss comes from a closure in some of them.
void train(Subject& subject, torch::optim::Optimizer& optimizer, int from, int to) {
  for (int step = from; step < to; ++step) {
    const auto x = formula({4, 2, 8, 8}, 1.3 + 0.01 * step, 1);
    const auto loss_of = [&] {
      optimizer.zero_grad();
      auto loss = torch::cross_entropy_loss(subject.forward(x, step % 2 == 1),
                                            torch::arange(4).remainder(3));
      loss.backward();
      return loss;
    };
    if (step % 3 == 0) {
      TORCH_CHECK(optimizer.step(loss_of).defined());
    } else {
      loss_of();
      optimizer.step();
    }
  }
}

/// `saver` writes after six steps what `loader` goes on with: the files are the same.
template <class Saver, class Loader, class Options>
std::vector<torch::Tensor> trained(const Options& options, const Options& of_last) {
  Subject subject;
  const auto before = make<Saver>(subject, options, of_last);
  train(subject, *before, 0, 6);
  torch::serialize::OutputArchive out;
  before->save(out);
  std::ostringstream bytes;
  out.save_to(bytes);
  std::istringstream from(bytes.str());
  torch::serialize::InputArchive in;
  in.load_from(from);
  const auto after = make<Loader>(subject, options, of_last);
  after->load(in);
  train(subject, *after, 6, 12);
  return subject.parameters();
}

/// `exact` where the step is left to LibTorch's own optimizer; otherwise rounding must show.
template <class Theirs, class Ours, class Options>
void compare(lockstep::Job& job, const std::string& name, const Options& options,
             const Options& of_last, bool exact = false) {
  const auto expected = trained<Theirs, Theirs>(options, of_last);
  double largest = 0;
  for (const auto& ours :
       {trained<Ours, Ours>(options, of_last), trained<Ours, Theirs>(options, of_last),
        trained<Theirs, Ours>(options, of_last)}) {
    for (std::size_t i = 0; i < expected.size(); ++i) {
      largest = std::max(largest, (ours[i] - expected[i]).abs().max().template item<double>());
    }
  }
  const bool agrees = exact ? largest == 0 : largest > 0 && largest < 1e-5;
  job.print(name + (agrees ? " agree" : " differ by " + std::to_string(largest)));
}

template <class Optimizer, class Options>
void compare_zero_grad(lockstep::Job& job, const std::string& name, const Options& options) {
  auto parameter = torch::ones({2}, torch::requires_grad());
  Optimizer optimizer({parameter}, options);
  optimizer.zero_grad();
  parameter.sum().backward();
  optimizer.zero_grad(/*set_to_none=*/false);
  const bool is_zero = torch::equal(parameter.grad(), torch::zeros({2}));
  optimizer.zero_grad();
  const bool agrees = is_zero && !parameter.grad().defined();
  job.print("zero_grad() of " + name + (agrees ? " agree" : " differ"));
}

}  // namespace

/// lockstep::optim against torch::optim, which it must follow also where it leaves the step to it.
void run_optimizers(lockstep::Job& job) {
  using torch::optim::AdamOptions;
  using torch::optim::AdamWOptions;
  using torch::optim::SGDOptions;
  const auto sgd = [&](const std::string& name, const SGDOptions& options, bool exact = false) {
    compare<torch::optim::SGD, lockstep::optim::SGD>(job, "SGD " + name, options,
                                                     SGDOptions(options).lr(0.01), exact);
  };
  sgd("momentum", SGDOptions(0.05).momentum(0.9));
  sgd("decay", SGDOptions(0.05).momentum(0.8).weight_decay(0.01));
  sgd("plain", SGDOptions(0.05).weight_decay(0.01), true);
  sgd("nesterov", SGDOptions(0.05).momentum(0.9).nesterov(true), true);
  sgd("dampening", SGDOptions(0.05).momentum(0.9).dampening(0.5), true);
  compare_zero_grad<lockstep::optim::SGD>(job, "SGD", SGDOptions(0.1));
  compare_zero_grad<lockstep::optim::Adam>(job, "Adam", AdamOptions(0.1));
  compare_zero_grad<lockstep::optim::AdamW>(job, "AdamW", AdamWOptions(0.1));
  const auto adam = [&](const std::string& name, const AdamOptions& options, bool exact = false) {
    compare<torch::optim::Adam, lockstep::optim::Adam>(job, "Adam " + name, options,
                                                       AdamOptions(options).lr(1e-4), exact);
  };
  // Where second moments are tiny, Adam magnifies rounding: a larger epsilon than the default.
  adam("betas", AdamOptions(1e-3).betas({0.8, 0.99}).eps(1e-4));
  adam("decay", AdamOptions(1e-3).weight_decay(0.1).eps(1e-4));
  adam("amsgrad", AdamOptions(1e-3).amsgrad(true), true);
  compare<torch::optim::AdamW, lockstep::optim::AdamW>(
      job, "AdamW", AdamWOptions(1e-3).weight_decay(0.1).eps(1e-4), AdamWOptions(1e-4).eps(1e-4));
}
