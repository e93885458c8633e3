// consumer BATCH: trains a small classifier with that batch per rank and prints what it ends with.
#include <lockstep/lockstep.h>

#include <cstdio>
#include <cstdlib>

struct Rings : torch::data::datasets::Dataset<Rings> {
  torch::data::Example<> get(std::size_t index) override {
    const double angle = 0.37 * static_cast<double>(index);
    const int label = static_cast<int>(index % 3);
    const double radius = 0.5 + label + 0.2 * std::sin(5 * angle);
    return {torch::tensor({radius * std::cos(angle), radius * std::sin(angle)}, torch::kFloat),
            torch::tensor(label, torch::kLong)};
  }
  torch::optional<std::size_t> size() const override { return 480; }
};

int main(int argc, char** argv) {
  auto job = lockstep::join(argc, argv);
  torch::manual_seed(1);
  torch::nn::Sequential net(torch::nn::Linear(2, 32), torch::nn::Tanh(), torch::nn::Linear(32, 3));
  net->to(job.device());
  lockstep::DataParallel ddp(net, job);
  torch::optim::SGD optimizer(net->parameters(), torch::optim::SGDOptions(0.1).momentum(0.9));
  const auto batch = static_cast<std::size_t>(std::atoi(argv[1]));
  auto loader = torch::data::make_data_loader(Rings().map(torch::data::transforms::Stack<>()),
                                              job.sampler(480, 1), batch);
  for (int epoch = 1; epoch <= 4; ++epoch) {
    double total = 0;
    int steps = 0;
    for (auto& part : job.batches(*loader)) {
      optimizer.zero_grad();
      auto loss =
          torch::cross_entropy_loss(ddp(part.data.to(job.device())), part.target.to(job.device()));
      loss.backward();
      job.step(optimizer);
      total += loss.item<double>();
      ++steps;
    }
    const double mean = job.mean(total / steps);
    job.log("train_loss", mean);
    if (job.is_main()) std::printf("epoch %d: loss %.6f\n", epoch, mean);
  }
  if (!job.is_main()) return 0;
  for (const auto& parameter : net->parameters()) {
    const auto flat = parameter.detach().cpu().flatten();
    for (std::int64_t i = 0; i < flat.numel(); ++i)
      std::printf("parameter %.8f\n", flat[i].item<double>());
  }
}
