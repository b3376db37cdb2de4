/// The reason why the daemon or a command cannot start, with the remedy.
package struct CommandError: Error, CustomStringConvertible {
    package let description: String
    /// True if the settings are wrong, rather than the machine, the files or the models that they name.
    package let isConfiguration: Bool

    package init(_ description: String, isConfiguration: Bool = false) {
        self.description = description
        self.isConfiguration = isConfiguration
    }
}
