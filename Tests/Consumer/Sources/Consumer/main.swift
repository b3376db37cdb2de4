import Foundation
import Inference

// usage: Consumer MODEL PICTURE...
let arguments = Array(CommandLine.arguments.dropFirst())
guard let path = arguments.first, let picture = arguments.dropFirst().first else { exit(2) }
print("label:", try await classify(picture, with: path))
print("outputs:", try await predict(picture, with: path).joined(separator: ", "))
print("labels:", try await classifyAll(Array(arguments.dropFirst()), with: path).joined(separator: ", "))
print("tensor:", try tensor(of: [UInt8](Data(contentsOf: URL(fileURLWithPath: picture)))).count, "bytes")
do {
    _ = try EncodedImage(contentsOf: URL(fileURLWithPath: "/nonexistent.png"))
} catch {
    print("error:", error)
}
