/// The reason why the daemon or a command cannot start: a message that says what to do.
package struct StartupError: Error, CustomStringConvertible {
    package let description: String
    /// True if the settings are wrong, as opposed to the machine, the files or the models that they name.
    package let isConfiguration: Bool

    package init(_ description: String, isConfiguration: Bool = false) {
        self.description = description
        self.isConfiguration = isConfiguration
    }
}
