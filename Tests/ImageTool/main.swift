import Foundation
import ImagePipeline

// The tool of the image scripts: tensors for comparisons, times for benchmarks, mutations for fuzzing.
let arguments = Array(CommandLine.arguments.dropFirst())
let commands: [String: ([String]) throws -> Void] = [
    "bench": BenchCommand.run,
    "fuzz": FuzzCommand.run,
    "tensor": TensorCommand.run,
]
guard let name = arguments.first, let command = commands[name] else {
    FileHandle.standardError.write(Data("usage: imagetool \(commands.keys.sorted().joined(separator: "|")) ...\n".utf8))
    exit(2)
}
do {
    try command(Array(arguments.dropFirst()))
} catch {
    FileHandle.standardError.write(Data("imagetool: \(error)\n".utf8))
    exit(1)
}
