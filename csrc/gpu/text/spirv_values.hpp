#pragma once

#include <cstdint>
#include <span>

#include "core/program/program_data.hpp"
#include "gpu/text/spirv_writer.hpp"

// What kernels of programs in SPIR-V are made of: calls of kernels/opencl/program_functions.cl.
namespace tilewright::gpu {

const SpirvLibrary& program_library();

/// A value from its bits as its class has it, in words that are known as the kernel runs; high is 0
/// for one of 32 bits.
SpirvWriter::Id spirv_of_words(SpirvWriter& w, ComputeClass kind, SpirvWriter::Id low,
                               SpirvWriter::Id high);
/// The same of bits that are known now.
SpirvWriter::Id spirv_constant(SpirvWriter& w, ComputeClass kind, std::uint64_t class_bits);
/// An op or cast of a program, of the values of the nodes before it.
SpirvWriter::Id spirv_op(SpirvWriter& w, const ProgramData& program, const ProgramNode& node,
                         std::span<const SpirvWriter::Id> values);

}  // namespace tilewright::gpu
