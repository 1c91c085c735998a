-- Clada in Neovim. Copy this file to ~/.config/nvim/plugin/clada.lua.
--
--   :Clada        apply the buffer; with a range (:'<,'>Clada) the selected lines
--   :Clada plan   show what would change, and change nothing
--   :Clada undo   revert the last run
--
-- Failures go to the quickfix list: each entry leads to the operation in the answer.

local function failures(report, buffer, first_line)
  local items = {}
  local function add(line, text)
    table.insert(items, { bufnr = buffer, lnum = first_line + (line or 1) - 1, text = text, type = "E" })
  end
  for _, problem in ipairs({ report.fatal, report.error }) do
    if type(problem) == "table" then
      add(1, problem.message)
    end
  end
  for _, block in ipairs(report.blocks or {}) do
    for _, task in ipairs(block.tasks) do
      if type(task.error) == "table" then
        add(task.line, task.target .. ": " .. task.error.type .. ": " .. task.error.message)
      end
    end
  end
  for _, part in ipairs(report.not_applied or {}) do
    add(type(part) == "table" and part.line or 1, type(part) == "table" and part.text or tostring(part))
  end
  return items
end

local function run(options)
  local words = { "clada" }
  vim.list_extend(words, options.fargs)
  if options.fargs[1] == "undo" then
    vim.notify(vim.trim(vim.fn.system(words)))
    vim.cmd.checktime()
    return
  end
  table.insert(words, "--json")
  local buffer = vim.api.nvim_get_current_buf()
  local lines = vim.api.nvim_buf_get_lines(buffer, options.line1 - 1, options.line2, false)
  local output = vim.fn.system(words, table.concat(lines, "\n") .. "\n")
  local start = output:find("{", 1, true)
  local ok, report = pcall(vim.json.decode, start and output:sub(start) or "")
  if not ok then
    vim.notify(vim.trim(output), vim.log.levels.ERROR)
    return
  end
  local items = failures(report, buffer, options.line1)
  vim.fn.setqflist({}, " ", { title = "Clada", items = items })
  local done = (report.succeeded or 0) + (report.planned or 0)
  local how = report.dry_run and " would be done, " or " done, "
  vim.notify("clada: " .. done .. how .. #items .. " failed", #items > 0 and vim.log.levels.WARN or nil)
  vim.cmd.checktime()
  if #items > 0 then
    vim.cmd.copen()
  end
end

vim.api.nvim_create_user_command("Clada", run, {
  nargs = "*",
  range = "%",
  complete = function()
    return { "plan", "undo" }
  end,
  desc = "Apply the answer in this buffer",
})
