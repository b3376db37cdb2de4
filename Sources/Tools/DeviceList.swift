internal import Inference
package import Settings
internal import SystemSupport

/// The engines' devices as text: `ocelli devices`.
package enum DeviceList {
    /// A paragraph per device. Blocks while the engines search.
    /// - Throws: the reason why an engine, or the library named in the settings, cannot be used.
    package static func text(_ settings: Settings) throws -> String {
        let devices: [ComputeDevice]
        do throws(EngineError) {
            devices = try DefaultEngine.devices(onnxRuntime: settings.onnxRuntimePath)
        } catch {
            throw CommandError(error.message)
        }
        return devices.map { device in
            "\(device.name)  \(device.fullName)\n     \(device.capabilities.joined(separator: " "))"
        }.joined(separator: "\n")
    }
}
