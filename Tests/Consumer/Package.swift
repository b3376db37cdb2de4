// swift-tools-version: 6.2
import PackageDescription

// A program that uses Ocelli's libraries, as one outside of it would. scripts/check-consumer builds and runs it.
//
//     swift build --pkg-config-path OCELLI/.deps/pkgconfig
//
// OCELLI is Ocelli's checkout, after `make setup` there. The path says where OpenVINO's headers and libraries are; the
// linker setting, where the program finds the libraries when it runs.
let ocelli = Context.packageDirectory + "/../.."

let package = Package(
    name: "Consumer",
    dependencies: [.package(name: "ocelli", path: "../..")],
    targets: [
        .executableTarget(
            name: "Consumer",
            dependencies: [
                .product(name: "Inference", package: "ocelli"), .product(name: "ImagePipeline", package: "ocelli"),
            ],
            linkerSettings: [.unsafeFlags(["-Xlinker", "-rpath", "-Xlinker", ocelli + "/.deps/openvino/lib"])])
    ],
    swiftLanguageModes: [.v6]
)
