import Foundation
import Inference

// usage: Consumer MODEL PICTURE... [PROJECTS.mlmodel]
let arguments = CommandLine.arguments.dropFirst().filter { !$0.hasSuffix(".mlmodel") }
if let projects = CommandLine.arguments.first(where: { $0.hasSuffix(".mlmodel") }) {
    print("project:", try await predictProject(goal: 8000, backers: 300, days: 21, with: projects))
}
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
