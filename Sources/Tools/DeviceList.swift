internal import Inference
internal import JSON
internal import ServicePlanning
package import Settings
internal import SystemSupport

/// The engines' devices: `ocelli devices`.
package enum DeviceList {
    /// A paragraph per device, or a JSON object. Blocks while the engines search.
    /// - Throws: the reason why an engine, or the library named in the settings, cannot be used.
    package static func text(_ settings: Settings, isJSON: Bool) throws -> String {
        let devices: [ComputeDevice]
        do throws(EngineError) {
            devices = try DefaultEngine.devices(libraries: settings.engineLibraries)
        } catch {
            throw CommandError(error.message)
        }
        guard isJSON else {
            return devices.map { device in
                "\(device.name)  \(device.fullName)\n     \(device.capabilities.joined(separator: " "))"
            }.joined(separator: "\n")
        }
        return JSONWriter.table("devices", devices) { device, writer in
            writer.member("name", device.name)
            writer.member("full_name", device.fullName)
            writer.member("capabilities", device.capabilities)
        }
    }
}
