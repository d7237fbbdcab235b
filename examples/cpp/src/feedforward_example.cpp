// Copyright 2026 uvms_adaptive_dynamics developers
//
// Licensed under the Apache License, Version 2.0 (the "License");
// you may not use this file except in compliance with the License.
// You may obtain a copy of the License at
//
//     http://www.apache.org/licenses/LICENSE-2.0
//
// Unless required by applicable law or agreed to in writing, software
// distributed under the License is distributed on an "AS IS" BASIS,
// WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
// See the License for the specific language governing permissions and
// limitations under the License.

// A wrench for a wanted acceleration of the vehicle, from the estimator's trusted parameters.
//
// In: imu/data, velocity (geometry_msgs/TwistStamped, body forward-left-up, such as ~/velocity of
// the feedforward node), wanted_acceleration (geometry_msgs/AccelStamped, the same axes) and
// uvms_estimator/trusted_parameters. Out: wrench (geometry_msgs/WrenchStamped, the same axes).
//
// An example of the header, for the vehicle alone. It publishes nothing without parameters, a fresh
// state, or a sign of life of the estimator (~/status, at least every half second). The node
// `feedforward` blends parameters, falls back when the estimator fails, limits the efforts and has
// the arm.
//
// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <cmath>
#include <memory>
#include <optional>
#include <string>

#include <diagnostic_msgs/msg/diagnostic_array.hpp>
#include <geometry_msgs/msg/accel_stamped.hpp>
#include <geometry_msgs/msg/twist_stamped.hpp>
#include <geometry_msgs/msg/wrench_stamped.hpp>
#include <rclcpp/rclcpp.hpp>
#include <sensor_msgs/msg/imu.hpp>
#include <sensor_msgs/msg/joint_state.hpp>

#include "uvms_adaptive_dynamics/feedforward.hpp"

namespace uad = uvms_adaptive_dynamics;

class FeedforwardExample : public rclcpp::Node {
 public:
  FeedforwardExample() : Node("feedforward_example") {
    // Seconds after which a state or a wanted motion is not used.
    timeout_ = declare_parameter("timeout", 0.2);
    const auto sensor = rclcpp::SensorDataQoS();
    imu_subscription_ = create_subscription<sensor_msgs::msg::Imu>(
        "imu/data", sensor, [this](sensor_msgs::msg::Imu::ConstSharedPtr m) { use(*m); });
    velocity_subscription_ = create_subscription<geometry_msgs::msg::TwistStamped>(
        "velocity", sensor, [this](geometry_msgs::msg::TwistStamped::ConstSharedPtr m) {
          velocity_ = frd(m->twist.linear);
          velocity_at_ = now();
        });
    wanted_subscription_ = create_subscription<geometry_msgs::msg::AccelStamped>(
        "wanted_acceleration", sensor,
        [this](geometry_msgs::msg::AccelStamped::ConstSharedPtr m) {
          nu_dot_ << frd(m->accel.linear), frd(m->accel.angular);
          wanted_at_ = now();
        });
    parameters_subscription_ = create_subscription<sensor_msgs::msg::JointState>(
        "uvms_estimator/trusted_parameters", rclcpp::QoS(1).transient_local(),
        [this](sensor_msgs::msg::JointState::ConstSharedPtr m) { use(*m); });
    status_subscription_ = create_subscription<diagnostic_msgs::msg::DiagnosticArray>(
        "uvms_estimator/status", rclcpp::QoS(1).transient_local(),
        [this](diagnostic_msgs::msg::DiagnosticArray::ConstSharedPtr) {
          // The steady clock: the others can be set.
          alive_at_ = std::chrono::steady_clock::now();
        });
    publisher_ = create_publisher<geometry_msgs::msg::WrenchStamped>("wrench", 1);
    timer_ = create_timer(std::chrono::milliseconds(10), [this] { publish(); });
  }

 private:
  template <typename Message>
  static uad::Vector3 frd(const Message &m) {
    return uad::frd_from_flu({m.x, m.y, m.z});
  }

  void use(const sensor_msgs::msg::Imu &m) {
    // The world's down axis in the body: the third row of the message's rotation (its up axis in
    // forward-left-up), turned round.
    const auto &q = m.orientation;
    const double length = std::sqrt(q.x * q.x + q.y * q.y + q.z * q.z + q.w * q.w);
    // REP-145's mark, or a message of zeros; NaN fails the comparison, too.
    if (m.orientation_covariance[0] == -1.0 || !(std::abs(length - 1.0) < 0.05)) {
      RCLCPP_WARN_THROTTLE(get_logger(), *get_clock(), 5000, "an IMU without orientation");
      return;
    }
    const uad::Vector3 up(2.0 * (q.x * q.z - q.w * q.y), 2.0 * (q.y * q.z + q.w * q.x),
                          1.0 - 2.0 * (q.x * q.x + q.y * q.y));
    down_ = uad::frd_from_flu(-up);
    rates_ = frd(m.angular_velocity);
    imu_at_ = now();
  }

  void use(const sensor_msgs::msg::JointState &m) {
    try {
      pi_ = uad::vehicle_parameters(m.name, m.position);
    } catch (const std::invalid_argument &error) {
      RCLCPP_WARN(get_logger(), "parameters refused, those before stay: %s", error.what());
    }
  }

  bool fresh(const std::optional<rclcpp::Time> &at) const {
    return at && (get_clock()->now() - *at).seconds() < timeout_;
  }

  bool alive() const {
    return alive_at_ && std::chrono::steady_clock::now() - *alive_at_ < std::chrono::seconds(2);
  }

  void publish() {
    if (!alive()) {
      RCLCPP_WARN_THROTTLE(get_logger(), *get_clock(), 5000,
                           "nothing is published: the estimator is silent");
      return;
    }
    if (!pi_ || !fresh(imu_at_) || !fresh(velocity_at_)) {
      RCLCPP_WARN_THROTTLE(get_logger(), *get_clock(), 5000,
                           "nothing is published: no trusted parameters, or no fresh state");
      return;
    }
    uad::Vector6 nu;
    nu << velocity_, rates_;
    const uad::Vector6 wanted = fresh(wanted_at_) ? nu_dot_ : uad::Vector6(uad::Vector6::Zero());
    const uad::Vector6 tau = uad::vehicle_feedforward(*pi_, nu, wanted, down_);
    if (!tau.allFinite()) {
      RCLCPP_WARN_THROTTLE(get_logger(), *get_clock(), 5000, "state or motion is not finite");
      return;
    }
    geometry_msgs::msg::WrenchStamped message;
    message.header.stamp = now();
    message.header.frame_id = "base_link";
    message.wrench.force.x = tau[0];      // forward-right-down to forward-left-up
    message.wrench.force.y = -tau[1];
    message.wrench.force.z = -tau[2];
    message.wrench.torque.x = tau[3];
    message.wrench.torque.y = -tau[4];
    message.wrench.torque.z = -tau[5];
    publisher_->publish(message);
  }

  double timeout_ = 0.2;
  uad::Vector3 down_ = uad::Vector3::UnitZ(), rates_ = uad::Vector3::Zero(),
               velocity_ = uad::Vector3::Zero();
  uad::Vector6 nu_dot_ = uad::Vector6::Zero();
  std::optional<uad::VehicleParameters> pi_;
  std::optional<std::chrono::steady_clock::time_point> alive_at_;
  std::optional<rclcpp::Time> imu_at_, velocity_at_, wanted_at_;
  rclcpp::Subscription<sensor_msgs::msg::Imu>::SharedPtr imu_subscription_;
  rclcpp::Subscription<geometry_msgs::msg::TwistStamped>::SharedPtr velocity_subscription_;
  rclcpp::Subscription<geometry_msgs::msg::AccelStamped>::SharedPtr wanted_subscription_;
  rclcpp::Subscription<sensor_msgs::msg::JointState>::SharedPtr parameters_subscription_;
  rclcpp::Subscription<diagnostic_msgs::msg::DiagnosticArray>::SharedPtr status_subscription_;
  rclcpp::Publisher<geometry_msgs::msg::WrenchStamped>::SharedPtr publisher_;
  rclcpp::TimerBase::SharedPtr timer_;
};

int main(int argc, char **argv) {
  rclcpp::init(argc, argv);
  rclcpp::spin(std::make_shared<FeedforwardExample>());
  rclcpp::shutdown();
  return 0;
}
