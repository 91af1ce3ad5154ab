// Client.java PORT OUTPUT: what JDBC reads, with gpusort's output on or off: a line for each way of each query.
import java.security.MessageDigest;
import java.sql.*;
import java.util.Arrays;
import java.util.Properties;

public class Client {
	static final String[] TABLES = {"integers_", "numerics", "floats", "times", "texts", "toasted", "others", "changed",
		"wide", "many", "latin"};
	static final String FAILING =
		"SELECT i, 1 / (900 - i), repeat('x', i) FROM generate_series(1, 1000) i ORDER BY i";

	// A value; the driver's text for bytes is their address.
	static String text(ResultSet result, int i) throws SQLException {
		return result.getMetaData().getColumnType(i) == Types.BINARY ? Arrays.toString(result.getBytes(i))
			: result.getString(i);
	}

	// Prints the rows of a query, twice, so that a statement is prepared.
	static void tell(Connection connection, String name, String sql, int fetchSize) throws Exception {
		try (PreparedStatement statement = connection.prepareStatement(sql)) {
			statement.setFetchSize(fetchSize);
			for (int run = 0; run < 2; run++) {
				MessageDigest digest = MessageDigest.getInstance("SHA-256");
				int rows = 0;
				try (ResultSet result = statement.executeQuery()) {
					int columns = result.getMetaData().getColumnCount();
					for (; result.next(); rows++)
						for (int i = 1; i <= columns; i++)
							digest.update((text(result, i) + "|").getBytes("UTF-8"));
				} catch (SQLException | IllegalArgumentException error) {
					// the driver does not know infinite numerics in binary
					digest.update(error.getMessage().getBytes("UTF-8"));
					connection.rollback();
				}
				System.out.println(name + ": " + sql + ", fetch size " + fetchSize + ": " + rows + " rows, "
					+ new java.math.BigInteger(1, digest.digest()).toString(16));
			}
		}
	}

	public static void main(String[] arguments) throws Exception {
		String url = "jdbc:postgresql://127.0.0.1:" + arguments[0] + "/postgres";
		// queries by the extended protocol in binary, after five runs in text, and by the simple protocol
		String[][] ways = {{"binary", "prepareThreshold", "-1"}, {"text", "binaryTransfer", "false"},
			{"simple", "preferQueryMode", "simple"}};

		for (String[] way : ways) {
			Properties properties = new Properties();
			properties.setProperty("user", "postgres");
			properties.setProperty("options", "-c gpusort.output=" + arguments[1]);
			properties.setProperty(way[1], way[2]);
			try (Connection connection = DriverManager.getConnection(url, properties)) {
				connection.setAutoCommit(false);
				for (String table : TABLES)
					for (int fetchSize : new int[] {0, 70})
						tell(connection, way[0], "SELECT * FROM " + table + " ORDER BY 1, 2", fetchSize);
				tell(connection, way[0], FAILING, 0);
				tell(connection, way[0], FAILING, 70);
			}
		}
	}
}
