// A GAN of two modules and two optimizers: learns a ring of radius 2.
//   lockstep run -n 2 -- ./gan
#include <lockstep/lockstep.h>

#include <cmath>

torch::nn::Sequential network(int inputs, int outputs) {
  return torch::nn::Sequential(torch::nn::Linear(inputs, 32), torch::nn::LeakyReLU(),
                               torch::nn::Linear(32, 32), torch::nn::LeakyReLU(),
                               torch::nn::Linear(32, outputs));
}

torch::Tensor ring(std::int64_t count, torch::Device device) {
  const auto angle = torch::rand({count}, device) * 2 * M_PI;
  return torch::stack({2 * angle.cos(), 2 * angle.sin()}, 1);
}

torch::Tensor loss_of(const torch::Tensor& output, double target) {
  return torch::binary_cross_entropy_with_logits(output, torch::full_like(output, target));
}

int main(int argc, char** argv) {
  auto job = lockstep::join(argc, argv);
  torch::manual_seed(1);
  const auto device = job.device();
  auto g = network(2, 2), d = network(2, 1);
  g->to(device);
  d->to(device);
  lockstep::DataParallelOptions named;
  named.name = "the generator";
  lockstep::DataParallel generator(g, job, named);
  named.name = "the discriminator";
  lockstep::DataParallel discriminator(d, job, named);
  const auto adam = torch::optim::AdamOptions(1e-3).betas({0.5, 0.999});
  torch::optim::Adam g_optimizer(g->parameters(), adam), d_optimizer(d->parameters(), adam);

  torch::manual_seed(100 + job.rank());  // from here on, each rank has its own data
  for (int step = 0; step < 1500; ++step) {
    d_optimizer.zero_grad();
    loss_of(discriminator(ring(64, device)), 1).backward();
    const auto fake = generator(torch::randn({64, 2}, device));
    loss_of(discriminator(fake.detach()), 0).backward();
    job.step(d_optimizer);

    g_optimizer.zero_grad();
    loss_of(discriminator(fake), 1).backward();  // averages the gradients of both modules
    job.step(g_optimizer);
  }
  const torch::NoGradGuard no_grad;
  const double radius =
      job.mean(g->forward(torch::randn({1000, 2}, device)).norm(2, 1).mean().item<double>());
  job.print(std::abs(radius - 2) < 0.5 ? "generated points lie near the ring"
                                       : "mean radius " + std::to_string(radius));
}
