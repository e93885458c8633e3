// A classifier of 28 x 28 images on any number of ranks:
//   lockstep run -n 2 -- ./classifier              images that are made up, with something to learn
//   lockstep run -n 2 -- ./classifier DIR          Fashion-MNIST or MNIST, unpacked idx files in
//   DIR
#include <lockstep/lockstep.h>

#include <cstdio>

/// Ten classes of noisy stripes, for machines without a dataset.
struct Stripes : torch::data::datasets::Dataset<Stripes> {
  explicit Stripes(std::size_t count) : count_(count) {}
  torch::data::Example<> get(std::size_t index) override {
    const auto label = static_cast<std::int64_t>(index % 10);
    const auto i = torch::arange(28 * 28, torch::kFloat);
    const auto stripes = torch::sin(i * (0.2 + 0.07 * static_cast<double>(label)));
    const auto noise = torch::sin(i * 12.9898 + static_cast<double>(index) * 78.233) * 0.8;
    return {(stripes + noise).reshape({1, 28, 28}), torch::tensor(label)};
  }
  decltype(std::declval<torch::data::datasets::MNIST>().size()) size() const override {
    return count_;
  }
  std::size_t count_;
};

struct Net : torch::nn::Module {
  torch::nn::Conv2d first{register_module("first", torch::nn::Conv2d(1, 8, 5))};
  torch::nn::Conv2d second{register_module("second", torch::nn::Conv2d(8, 16, 5))};
  torch::nn::Linear last{register_module("last", torch::nn::Linear(256, 10))};

  torch::Tensor forward(torch::Tensor x) {
    x = torch::max_pool2d(torch::relu(first(x)), 2);
    x = torch::max_pool2d(torch::relu(second(x)), 2);
    return last(x.flatten(1));
  }
};

template <class Train, class Test>
void train(lockstep::Job& job, Train train_set, Test test_set, int epochs) {
  torch::manual_seed(1);
  auto net = std::make_shared<Net>();
  net->to(job.device());
  lockstep::DataParallel ddp(net, job);
  torch::optim::SGD optimizer(net->parameters(), torch::optim::SGDOptions(0.05).momentum(0.9));

  const std::size_t examples = *train_set.size(), tests = *test_set.size();
  auto loader = torch::data::make_data_loader(std::move(train_set), job.sampler(examples, 1), 32);
  auto test_loader = torch::data::make_data_loader(std::move(test_set),
                                                   job.sampler(tests, 0, {.shuffle = false}), 100);

  for (int epoch = 1; epoch <= epochs; ++epoch) {
    for (auto& batch : job.batches(*loader)) {
      optimizer.zero_grad();
      const auto output = ddp(batch.data.to(job.device()));
      torch::cross_entropy_loss(output, batch.target.to(job.device())).backward();
      job.step(optimizer);
    }
    const torch::NoGradGuard no_grad;
    double right = 0, seen = 0;
    for (auto& batch : *test_loader) {
      const auto guess = net->forward(batch.data.to(job.device())).argmax(1).cpu();
      right += (guess == batch.target).sum().template item<double>();
      seen += static_cast<double>(batch.target.numel());
    }
    const double accuracy = job.sum(right) / job.sum(seen);
    job.log("val_accuracy", accuracy);
    job.print("epoch " + std::to_string(epoch) + ": accuracy " +
              (accuracy > 0.95 ? "above 0.95" : std::to_string(accuracy)));
  }
}

int main(int argc, char** argv) {
  auto job = lockstep::join(argc, argv);
  const torch::data::transforms::Stack<> stack;
  if (argc > 1) {
    using torch::data::datasets::MNIST;
    train(job, MNIST(argv[1]).map(stack), MNIST(argv[1], MNIST::Mode::kTest).map(stack), 3);
  } else {
    train(job, Stripes(2000).map(stack), Stripes(400).map(stack), 2);
  }
}
