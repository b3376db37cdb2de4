// swift-tools-version: 6.2
import PackageDescription

// What every Swift target is built with: warnings are errors, and each import says whether it is part of the API.
let strict: [SwiftSetting] = [
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    // Swift 6.3.1's optimizer zeroes fields of large structures that are taken out of an enum's payload of several
    // elements. Without this pass it does not. CONTRIBUTING.md, "Pitfalls", has the ten lines that show it.
    .unsafeFlags(["-Xfrontend", "-disable-large-loadable-types-reg2mem"]),
]

// Tests that wait for programs and compute nothing: unoptimized, they are built in half the time.
let waiting = strict + [.unsafeFlags(["-Onone"], .when(configuration: .release))]

// The event loop's objects stay on their thread, so that the compiler's checks of overlapping accesses find nothing at
// run time that they do not find in the debug builds that the tests run in too; they are a tenth of a short request's
// instructions.
let confined: [SwiftSetting] = [.unsafeFlags(["-enforce-exclusivity=unchecked"], .when(configuration: .release))]

// OpenVINO's libraries are found beside the build tree (a checkout) or in ../lib/ocelli (an installation). Only what is
// linked into a program needs it.
let findEngine: [LinkerSetting] = [
    .unsafeFlags([
        "-Xlinker", "-rpath", "-Xlinker", "$ORIGIN/../lib/ocelli",
        "-Xlinker", "-rpath", "-Xlinker", "$ORIGIN/../../../.deps/openvino/lib",
        // Builds with sanitizers are under .build/asan and .build/tsan: one folder deeper.
        "-Xlinker", "-rpath", "-Xlinker", "$ORIGIN/../../../../.deps/openvino/lib",
    ])
]

// The program carries Swift's runtime and Foundation with it. Only the link says so, not the compilation (the code is
// the same): so the program and the tests, which are linked to the shared libraries, are compiled once. What Foundation
// is made of is known to the modules for static linking alone, and therefore named here.
let carryRuntime: [LinkerSetting] = [
    .unsafeFlags(["-static-stdlib"], .when(configuration: .release)),
    .linkedLibrary("_FoundationCShims", .when(configuration: .release)),
    .linkedLibrary("_FoundationCollections", .when(configuration: .release)),
]

let package = Package(
    name: "ocelli",
    products: [
        .executable(name: "ocelli", targets: ["ocelli"]),
        .library(name: "SystemSupport", targets: ["SystemSupport"]),
        .library(name: "JSON", targets: ["JSON"]),
        .library(name: "HTTPWire", targets: ["HTTPWire"]),
        .library(name: "HTTPServer", targets: ["HTTPServer"]),
        .library(name: "ImagePipeline", targets: ["ImagePipeline"]),
        .library(name: "FlowControl", targets: ["FlowControl"]),
        .library(name: "Inference", targets: ["Inference"]),
        .library(name: "Repository", targets: ["Repository"]),
    ],
    targets: [
        // C shims: what Swift cannot express, and nothing more.
        .target(name: "CSystem"),
        .target(name: "CJPEG", linkerSettings: [.linkedLibrary("jpeg")]),
        .target(name: "CPNG", linkerSettings: [.linkedLibrary("png"), .linkedLibrary("z")]),
        .target(name: "CWebP", linkerSettings: [.linkedLibrary("webp")]),
        .target(name: "CResample"),
        // Libraries that are opened in the helper process alone: nothing is linked.
        .target(name: "CConfinedCodecs"),
        // The declarations of ONNX Runtime's and LiteRT's APIs; their libraries are opened at run time: nothing is
        // linked.
        .target(name: "CLiteRT"),
        .target(name: "CONNXRuntime"),
        .target(name: "CInflate", linkerSettings: [.linkedLibrary("z")]),
        // Opened by `ocelli pull` alone: nothing is linked.
        .target(name: "CCurl"),
        // Only the objects of SHA-256 and SHA-1 are linked, so that the program needs no shared library for it.
        .target(name: "CSHA256", linkerSettings: [.linkedLibrary(":libcrypto.a")]),
        .systemLibrary(name: "COpenVINO", pkgConfig: "openvino-ocelli"),

        // Swift over CSystem: threads, clocks, guarded values, errors of system calls; digests.
        .target(name: "SystemSupport", dependencies: ["CSHA256", "CSystem"], swiftSettings: strict),

        // Choices of settings that other targets use too.
        .target(name: "Choices", swiftSettings: strict),

        // JSON text: scanned into typed memory, written, and located where it is wrong.
        .target(name: "JSON", swiftSettings: strict),

        // The libraries, in the order of the way of one request.
        .target(name: "HTTPWire", swiftSettings: strict),
        .target(
            name: "HTTPServer", dependencies: ["CSystem", "HTTPWire", "JSON", "SystemSupport"],
            swiftSettings: strict + confined),
        .target(
            name: "ImagePipeline", dependencies: ["CJPEG", "CPNG", "CResample", "CWebP", "Choices"],
            swiftSettings: strict),
        // Pictures that are decoded in processes of their own.
        .target(
            name: "ConfinedDecoding", dependencies: ["CConfinedCodecs", "CSystem", "ImagePipeline", "SystemSupport"],
            swiftSettings: strict),
        .target(name: "FlowControl", dependencies: ["Choices", "SystemSupport"], swiftSettings: strict),
        // Readers of file formats, one each, for everything below.
        .target(name: "FileFormats", dependencies: ["CInflate", "JSON"], swiftSettings: strict),
        // What model files and the files beside them say.
        .target(name: "CoreMLImport", dependencies: ["FileFormats", "SystemSupport"], swiftSettings: strict),
        // The second opinion on Core ML's classical models, of which CoreMLImport knows nothing.
        .target(name: "CoreMLReferee", dependencies: ["FileFormats", "SystemSupport"], swiftSettings: strict),
        .target(name: "ModelFacts", dependencies: ["FileFormats", "JSON"], swiftSettings: strict),
        // What raw outputs mean: boxes, masks, keypoints, embeddings.
        .target(name: "Observations", swiftSettings: strict),
        // Text to token ids, as a model's tokenizer.json states. It computes for minutes in the tests where it is not
        // optimized, and is therefore optimized in debug builds too.
        .target(
            name: "Tokenizers", dependencies: ["JSON"],
            swiftSettings: strict + [.unsafeFlags(["-O"], .when(configuration: .debug))]),
        // What is learned from a few pictures: methods, their evaluation, and the files of taught models. It computes
        // for minutes where it is not optimized, and is therefore optimized in debug builds too.
        .target(
            name: "Teaching", dependencies: ["FileFormats", "SystemSupport"],
            swiftSettings: strict + [.unsafeFlags(["-O"], .when(configuration: .debug))]),
        // Pictures that are kept to be labelled: which, and their files.
        .target(name: "Keeping", dependencies: ["JSON", "SystemSupport"], swiftSettings: strict),
        // A new version of a model proves itself: whether answers agree, and what follows.
        .target(name: "Rollout", dependencies: ["JSON", "SystemSupport"], swiftSettings: strict),
        // How sure a classifier may be: temperatures, sets of labels. It computes for seconds in the tests where it is
        // not optimized, and is therefore optimized in debug builds too.
        .target(
            name: "Calibration", dependencies: ["JSON"],
            swiftSettings: strict + [.unsafeFlags(["-O"], .when(configuration: .debug))]),
        // Whether pictures are still like those of the reference.
        .target(name: "Drift", dependencies: ["JSON"], swiftSettings: strict),
        // The other end of the wire: a client that measures.
        .target(name: "LoadGenerator", dependencies: ["CSystem", "SystemSupport"], swiftSettings: strict),
        // Features, and the protocols of engines.
        .target(
            name: "EngineAPI",
            dependencies: [
                "Choices", "CoreMLImport", "FileFormats", "FlowControl", "ImagePipeline", "JSON", "SystemSupport",
            ],
            swiftSettings: strict),
        // The engines, one target each, and the files that they read with help.
        .target(
            name: "EngineOpenVINO",
            dependencies: ["COpenVINO", "CoreMLImport", "EngineAPI", "FileFormats", "FlowControl", "SystemSupport"],
            swiftSettings: strict),
        .target(
            name: "EngineONNXRuntime",
            dependencies: [
                "CONNXRuntime", "COpenVINO", "EngineAPI", "FileFormats", "FlowControl", "ImagePipeline", "JSON",
                "ModelFacts", "SystemSupport",
            ],
            swiftSettings: strict),
        .target(
            name: "EngineImporters",
            dependencies: ["CoreMLImport", "EngineAPI", "FileFormats", "FlowControl", "JSON", "Observations"],
            swiftSettings: strict),
        .target(
            name: "EngineLiteRT",
            dependencies: [
                "CLiteRT", "COpenVINO", "EngineAPI", "EngineImporters", "FileFormats",
            ],
            swiftSettings: strict),
        // The choice of the engine for a file.
        .target(
            name: "Engines",
            dependencies: [
                "EngineAPI", "EngineImporters", "EngineLiteRT", "EngineONNXRuntime", "EngineOpenVINO", "FileFormats",
                "ModelFacts", "SystemSupport",
            ],
            swiftSettings: strict),
        // model.json and the files next to it, checked against the model file.
        .target(
            name: "Bundles",
            dependencies: [
                "Calibration", "CoreMLImport", "EngineAPI", "EngineImporters", "Engines", "FileFormats",
                "ImagePipeline",
                "JSON", "ModelFacts", "Observations", "SystemSupport", "Teaching",
            ],
            swiftSettings: strict),
        // A loaded model.
        .target(
            name: "Inference",
            dependencies: [
                "Bundles", "Calibration", "ConfinedDecoding", "CoreMLImport", "CoreMLReferee", "EngineAPI",
                "EngineImporters",
                "Engines", "FileFormats", "FlowControl", "ImagePipeline", "JSON", "Observations", "Rollout",
                "SystemSupport", "Teaching", "Tokenizers",
            ],
            swiftSettings: strict),
        // The models of folders, and their versions.
        .target(
            name: "Repository",
            dependencies: [
                "Bundles", "Choices", "CoreMLImport", "EngineAPI", "EngineImporters", "FileFormats", "FlowControl",
                "ImagePipeline", "Inference", "JSON", "ModelFacts", "Rollout", "SystemSupport",
            ],
            swiftSettings: strict),
        // The one table of settings, its loader and its documents.
        .target(name: "Settings", dependencies: ["Choices", "JSON", "SystemSupport"], swiftSettings: strict),
        // The settings that a daemon or a command runs models by.
        .target(
            name: "ServicePlanning",
            dependencies: [
                "CSystem", "FlowControl", "HTTPServer", "HTTPWire", "ImagePipeline", "Inference", "Repository",
                "Settings", "SystemSupport",
            ],
            swiftSettings: strict),
        // Errors, inputs and answers as bytes.
        .target(
            name: "WireFormats",
            dependencies: [
                "FlowControl", "HTTPServer", "HTTPWire", "ImagePipeline", "Inference", "JSON", "Observations",
                "Repository", "Settings", "SystemSupport", "Teaching",
            ],
            swiftSettings: strict),
        // What all routes share.
        .target(
            name: "ServiceCore",
            dependencies: [
                "CSystem", "Choices", "FlowControl", "HTTPServer", "HTTPWire", "ImagePipeline", "Inference", "JSON",
                "Repository", "Rollout", "ServicePlanning", "Settings", "SystemSupport", "WireFormats",
            ],
            // One binary: the page is part of it.
            resources: [
                "Page/index.html", "Page/ask.js", "Page/drawing.js", "Page/input.js", "Page/models.js",
                "Page/teach.js", "Page/drift.js", "Page/kept.js",
                "OpenAPI/openapi.json",
            ].map { .embedInCode($0) },
            swiftSettings: strict),
        // Ocelli's own routes.
        .target(
            name: "Tasks",
            dependencies: [
                "Calibration", "Drift", "FlowControl", "HTTPServer", "HTTPWire", "ImagePipeline", "Inference", "JSON",
                "Keeping",
                "Repository",
                "Rollout", "ServiceCore", "Settings", "SystemSupport", "Teaching", "WireFormats",
            ],
            swiftSettings: strict),
        // The routes of other servers' clients.
        .target(
            name: "Dialects",
            dependencies: [
                "CInflate", "FileFormats", "FlowControl", "HTTPServer", "HTTPWire", "ImagePipeline", "Inference",
                "JSON", "Observations", "Repository", "ServiceCore", "Settings", "SystemSupport", "Tasks", "Teaching",
                "WireFormats",
            ],
            swiftSettings: strict),
        // The daemon.
        .target(
            name: "InferenceService",
            dependencies: [
                "CSystem", "Dialects", "FlowControl", "HTTPServer", "HTTPWire", "Inference", "JSON", "Keeping",
                "Repository",
                "ServiceCore", "ServicePlanning", "Settings", "SystemSupport", "Tasks", "Teaching", "WireFormats",
            ],
            swiftSettings: strict),
        // What the command does beside serving: bench, report, check, init, classify, devices.
        .target(
            name: "Tools",
            dependencies: [
                "CCurl", "CSystem", "Calibration", "FileFormats", "HTTPWire", "HTTPServer", "ImagePipeline",
                "FlowControl",
                "Inference", "JSON", "LoadGenerator", "ModelFacts", "Observations", "Repository", "Rollout",
                "ServicePlanning",
                "Settings", "SystemSupport", "Teaching", "WireFormats",
            ],
            resources: [.embedInCode("Quantize/quantize.py"), .embedInCode("Train/train.py")],
            swiftSettings: strict),
        .executableTarget(
            name: "ocelli",
            dependencies: [
                "CConfinedCodecs", "CSystem", "Calibration", "ConfinedDecoding", "InferenceService", "JSON",
                "LoadGenerator", "Settings", "SystemSupport", "Tools",
            ],
            swiftSettings: strict,
            linkerSettings: findEngine + carryRuntime),

        // Tests.
        .testTarget(
            name: "CoreMLImportTests", dependencies: ["CoreMLImport", "TestSupport"], swiftSettings: waiting),
        .testTarget(
            name: "CoreMLRefereeTests", dependencies: ["CoreMLImport", "CoreMLReferee", "FileFormats", "TestSupport"],
            swiftSettings: strict),
        // Translates Core ML files without an engine, whole or damaged: for scripts.
        .executableTarget(
            name: "coremlprobe", dependencies: ["CoreMLImport"], path: "Tests/CoreMLProbe", swiftSettings: strict),
        // The importers without an engine.
        .testTarget(
            name: "EngineImportersTests", dependencies: ["EngineAPI", "EngineImporters", "FileFormats", "TestSupport"],
            swiftSettings: waiting),
        // What imported models compute, against other programs' answers.
        .testTarget(
            name: "CoreMLModelTests", dependencies: ["CoreMLImport", "COpenVINO", "TestSupport"],
            swiftSettings: waiting,
            linkerSettings: findEngine),
        .testTarget(
            name: "FileFormatsTests", dependencies: ["FileFormats", "TestSupport"], exclude: ["Fixtures"],
            swiftSettings: waiting),
        .testTarget(
            name: "ModelFactsTests", dependencies: ["FileFormats", "JSON", "ModelFacts", "TestSupport"],
            exclude: ["Fixtures"],
            swiftSettings: waiting),
        .testTarget(
            name: "ObservationsTests", dependencies: ["Observations", "TestSupport"], exclude: ["Fixtures"],
            swiftSettings: strict),
        .testTarget(
            name: "TokenizersTests", dependencies: ["SystemSupport", "TestSupport", "Tokenizers"],
            exclude: ["Fixtures"],
            swiftSettings: strict),
        .target(name: "TestSupport", dependencies: ["CSystem"], path: "Tests/TestSupport", swiftSettings: waiting),
        .testTarget(
            name: "HTTPWireTests",
            dependencies: ["HTTPWire", "TestSupport"],
            exclude: ["Fixtures"],
            swiftSettings: strict),
        .target(name: "CMallocCounter", path: "Tests/CMallocCounter"),
        .executableTarget(
            name: "HTTPServerProbe",
            dependencies: ["HTTPServer", "HTTPWire", "CSystem", "CMallocCounter", "SystemSupport"],
            path: "Tests/HTTPServerProbe",
            swiftSettings: strict),
        .testTarget(
            name: "HTTPServerTests",
            dependencies: ["HTTPServer", "HTTPWire", "HTTPServerProbe", "CSystem", "TestSupport"],
            swiftSettings: waiting),
        .testTarget(
            name: "ImagePipelineTests",
            dependencies: ["CResample", "ImagePipeline", "TestSupport"],
            exclude: ["Fixtures"],
            swiftSettings: strict),
        // The helper with its codecs, or with others that lie, crash, hang and take memory.
        .executableTarget(
            name: "codecprobe", dependencies: ["CConfinedCodecs"], path: "Tests/CodecProbe"),
        .testTarget(
            name: "ConfinedDecodingTests",
            dependencies: ["CConfinedCodecs", "ConfinedDecoding", "ImagePipeline", "TestSupport", "codecprobe"],
            swiftSettings: waiting),
        .testTarget(
            name: "ToolsTests", dependencies: ["SystemSupport", "Tools", "TestSupport"], swiftSettings: waiting,
            linkerSettings: findEngine),
        .testTarget(name: "SettingsTests", dependencies: ["Settings", "TestSupport"], swiftSettings: waiting),
        .testTarget(
            name: "JSONTests", dependencies: ["JSON", "TestSupport"], exclude: ["Fixtures"], swiftSettings: waiting),
        .testTarget(
            name: "SystemSupportTests", dependencies: ["CSystem", "SystemSupport", "TestSupport"],
            swiftSettings: waiting),
        .executableTarget(
            name: "imagetool", dependencies: ["ImagePipeline", "CJPEG"], path: "Tests/ImageTool", swiftSettings: strict),
        // Linked into tests, it makes Thread Sanitizer understand Swift's Mutex. Empty in other builds.
        .target(name: "CSanitizerSupport", path: "Tests/CSanitizerSupport"),
        .testTarget(
            name: "FlowControlTests",
            dependencies: ["FlowControl", "SystemSupport", "TestSupport", "CSanitizerSupport"],
            swiftSettings: strict),
        .testTarget(
            name: "InferenceTests",
            dependencies: [
                "CLiteRT", "CoreMLImport", "EngineImporters", "EngineLiteRT", "EngineONNXRuntime", "EngineOpenVINO",
                "FileFormats", "FlowControl", "ImagePipeline", "Inference", "Observations", "Repository", "Rollout",
                "SystemSupport", "Teaching", "TestSupport",
            ],
            swiftSettings: waiting,
            linkerSettings: findEngine),
        .testTarget(
            name: "InferenceServiceTests",
            dependencies: [
                "Choices", "Dialects", "FileFormats", "FlowControl", "HTTPServer", "HTTPWire", "ImagePipeline",
                "Inference", "InferenceService", "JSON", "Observations", "Repository", "Rollout", "ServiceCore",
                "ServicePlanning", "Settings",
                "SystemSupport", "Tasks", "Teaching", "TestSupport", "WireFormats",
            ],
            swiftSettings: waiting,
            linkerSettings: findEngine),
        .executableTarget(
            name: "modelbench", dependencies: ["Inference", "FlowControl", "SystemSupport"],
            path: "Benchmarks/inference/ModelBench",
            swiftSettings: strict, linkerSettings: findEngine),
        .executableTarget(
            name: "limitersim", dependencies: ["FlowControl", "SystemSupport"],
            path: "Benchmarks/overload/LimiterSimulator",
            swiftSettings: strict),
        .executableTarget(
            name: "teachbench", dependencies: ["Teaching"],
            path: "Benchmarks/teach/TeachBench",
            swiftSettings: strict),
        .executableTarget(
            name: "observationsbench", dependencies: ["Observations"],
            path: "Benchmarks/observations/ObservationsBench",
            swiftSettings: strict),
        .testTarget(
            name: "EndToEndTests",
            dependencies: ["ImagePipeline", "Settings", "SystemSupport", "TestSupport"],
            swiftSettings: waiting),
        // Teaches without end until it is killed: for TeachingTests.
        .executableTarget(
            name: "TeachingProbe", dependencies: ["Teaching"], path: "Tests/TeachingProbe",
            swiftSettings: strict),
        .testTarget(
            name: "TeachingTests", dependencies: ["FileFormats", "Teaching", "TeachingProbe", "TestSupport"],
            exclude: ["Fixtures"], swiftSettings: strict),
        .testTarget(
            name: "CalibrationTests", dependencies: ["Calibration", "TestSupport"], swiftSettings: strict),
        .testTarget(name: "DriftTests", dependencies: ["Drift", "JSON", "TestSupport"], swiftSettings: strict),
        .testTarget(
            name: "KeepingTests", dependencies: ["Keeping", "SystemSupport", "TestSupport"], swiftSettings: strict),
        .testTarget(name: "RolloutTests", dependencies: ["JSON", "Rollout", "TestSupport"], swiftSettings: strict),
        .testTarget(
            name: "LoadGeneratorTests", dependencies: ["LoadGenerator", "CSystem", "TestSupport"], swiftSettings: strict
        ),
    ],
    swiftLanguageModes: [.v6]
)

// OCELLI_ONLY=FlowControlTests,imagetool leaves these targets and what they need: SwiftPM would build all tests for
// any.
if let only = Context.environment["OCELLI_ONLY"] {
    var wanted = Set<String>()
    var next = only.split(separator: ",").map(String.init)
    while let name = next.popLast() {
        guard wanted.insert(name).inserted, let target = package.targets.first(where: { $0.name == name }) else {
            continue
        }
        for case .byNameItem(let needed, _) in target.dependencies { next.append(needed) }
    }
    package.targets.removeAll { !wanted.contains($0.name) }
    package.products = []
}
